/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A source produces events. Which one it is (BPF, ptrace, a file, a socket) is decided once, when
 * it is opened; from then on the session sees this interface alone.
 */
#ifndef MTRACE_SOURCE_SOURCE_H
#define MTRACE_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "bpf/abi.h"
#include "model/event.h"
#include "parser/client/client.h"
#include "source/thinning.h"
#include "symbol/elf/module.h"
#include "model/snapshot/snapshot.h"
#include "os/ptrace/holder.h"

enum stack_mode {
	STACK_AUTO, /* by tables if the kernel takes the program, else by frame pointers */
	STACK_CFI,  /* by tables */
	STACK_FP,
	STACK_NONE,
};

struct selected; /* source/selection.h */

struct source_config {
	struct module_table *modules; /* shared with the report; outlives the source */
	struct parser *parser;        /* reads the files of traced programs; likewise */
	uint32_t apis;                /* set of (1 << api) to probe */
	enum stack_mode stack;
	uint32_t depth;                /* frames, 1 to STACK_MAX_FRAMES */
	uint64_t buffer_bytes;         /* ring buffer; rounded up to a power of two */
	const char *const *omit;       /* objects without probes: path or soname; NULL-terminated */
	const char *const *allocators; /* OBJECT[:PREFIX]; NULL-terminated */
	bool hold_exec;  /* programs wait until they are probed, and whatever they map at start */
	bool holds_ends; /* processes may be held at their ends */
	bool sanity;     /* frees with stacks, and which operator made a call */
	struct thinning thinning;  /* which heap calls are told; not with sanity */
	bool measures;             /* the cost, if it can: see cost_begin */
	bool must_measure;         /* or else not open at all */
	const char *pairing;       /* "session", "task", "hash", or NULL: the best that works */
	enum scope scope;          /* only what is attached, its children too, or everything */
	struct selected *selected; /* of SCOPE_SYSTEM: which programs; outlives the source, which
				      identifies their files */

	/* Every event goes here, in order. A negative return ends the drain with that error. */
	int (*deliver)(void *ctx, const struct event *event);
	void *ctx;
};

/* What tracing cost those who are traced, in a window of time. */
#define COST_PROGRAMS 32
struct cost_of_program {
	const char *name;
	uint64_t runs;
	uint64_t ns;
};
struct source_cost {
	uint64_t cpu_ns;     /* that they had of processors, or all processes, if all have probes;
				of that, for tracing: … */
	uint64_t cost_ns;    /* … all, … */
	uint64_t program_ns; /* … in BPF programs, the rest at breakpoints, and … */
	uint64_t floor_ns;   /* … what would be left if nothing were told */
	uint64_t hits;       /* of breakpoints */
	struct cost_of_program programs[COST_PROGRAMS]; /* names last as long as the source */
	size_t program_count;
};

struct source;

struct source_ops {
	const char *name; /* as in the report: "bpf" */
	int (*open)(struct source **ret_source, const struct source_config *config,
		    struct error *err);
	/*
	 * Trace a running process. When this returns 0 its probes are in place and verified, and
	 * EVENT_PROCESS, EVENT_MAPPING and EVENT_WRAPPER were delivered.
	 * -ESRCH, -EPERM, -ENOENT (no allocator found) and others come with words.
	 */
	int (*attach)(struct source *source, pid_t pid, struct error *err);
	/*
	 * Trace a child that is held before its exec and will run `program` (a path), so that no
	 * call of the new image is missed. command and environment as for execve; command must
	 * outlive the source.
	 */
	int (*attach_launch)(struct source *source, pid_t pid, const char *program,
			     char *const *command, char *const *environment, struct error *err);
	/*
	 * A descriptor to poll edge-triggered (EPOLLIN | EPOLLET): it fires when much is waiting.
	 * Call drain by a timer too: little by little is not worth waking anybody.
	 */
	int (*fd)(const struct source *source);
	/* Of hold_exec, else -1: readable while a program waits for drain. */
	int (*hold_fd)(const struct source *source);
	/* Deliver all that has happened until now. 0 or the first error of deliver. */
	int (*drain)(struct source *source);
	/* How full its ring buffer was at most since the last time, in millionths; NULL: it has
	 * none. */
	uint64_t (*ring_peak)(struct source *source);
	/* With measures, each behind a drain: a window begins; and ends, with what it cost. 0 or
	 * -errno; -EAGAIN: it has ended, what it cost will be known soon. NULL: that cannot be
	 * measured. */
	int (*cost_begin)(struct source *source);
	int (*cost_end)(struct source *source, struct source_cost *ret_cost);
	/* What heap calls are drawn by from now on, as records have it (0: all are told; else a
	 * level + 1). NULL: it cannot be changed. */
	void (*draw)(struct source *source, uint32_t sample);
	/* Deliver an EVENT_LOSSES for each process: what was not seen of it so far. Of those that
	 * end or leave, that is delivered in time without asking. */
	int (*tell_losses)(struct source *source);
	/* Trace all that run now and are selected. Of SCOPE_SYSTEM alone. */
	int (*attach_all)(struct source *source, struct error *err);
	/*
	 * Who can stop a process, and hold it at its end. NULL: the source is not its tracer, so
	 * anybody can be. 0 or -errno with words.
	 */
	int (*hold)(struct source *source, const struct hold_request *request,
		    struct holder **ret_holder, struct error *err);
	/* Processes that are still traced and alive. */
	uint32_t (*live)(const struct source *source);
	/* Take all probes out. Events that are in the buffer can still be drained. */
	void (*detach)(struct source *source);
	void (*close)(struct source *source); /* NULL is fine */
};

struct source {
	const struct source_ops *ops;
};

/* BACKEND_AUTO: BPF where it can be had, else ptrace. */
enum backend { BACKEND_AUTO, BACKEND_BPF, BACKEND_PTRACE };

/* What this machine allows: for doctor, and for the one line when a trace cannot start. */
struct capability {
	const char *name; /* "uprobes", "BTF", "CAP_BPF" … */
	bool ok;
	bool needed;      /* without it nothing works */
	char detail[160]; /* what was found */
	char advice[160]; /* how to get it; "" if ok */
};
#define CAPABILITY_MAX 24

#endif
