/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A source produces events. The kind of source (BPF, ptrace, a file, a socket) is chosen once, when
 * it is opened; from then on the session only uses this interface.
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
#include "source/alloc_filter.h"
#include "symbol/elf/module.h"
#include "model/snapshot/snapshot.h"
#include "os/ptrace/holder.h"

enum stack_mode {
	STACK_AUTO, /* by tables if the kernel accepts the program, otherwise by frame pointers */
	STACK_CFI,  /* by tables */
	STACK_FP,
	STACK_NONE,
};

struct selected;     /* source/selection.h */
struct kernel_words; /* os/process/kernel_words.h */

enum gate_use { GATES_AUTO, GATES_ALWAYS, GATES_NEVER };

struct source_config {
	struct module_table *modules; /* shared with the report; outlives the source */
	struct parser *parser;        /* reads the files of traced programs; outlives the source */
	uint32_t apis;                /* bit mask of (1 << api) to probe */
	enum stack_mode stack;
	uint32_t depth;                /* frames, 1 to STACK_MAX_FRAMES */
	uint64_t buffer_bytes;         /* size of the ring buffer; rounded up to a power of two */
	const char *const *omit;       /* objects not to probe: path or soname; NULL-terminated */
	const char *const *allocators; /* OBJECT[:PREFIX]; NULL-terminated */
	bool hold_exec;   /* pause new programs until they and their libraries are probed */
	bool holds_exits; /* processes may be paused when they exit */
	bool sanity;      /* record stacks of frees, and the operator that made a call */
	struct alloc_filter alloc_filter; /* which heap calls to report; not with sanity */
	enum gate_use gates;              /* whether to sample by gates: source/gate/gated.h */
	bool measures;                    /* measure the cost if possible: see cost_begin */
	bool must_measure;                /* fail to open if that is impossible */
	const char *pairing;       /* "session", "task", "hash", or NULL: the best one that works */
	enum scope scope;          /* attached processes only, also their children, or everything */
	struct selected *selected; /* SCOPE_SYSTEM: which programs; outlives the source */

	/* Receives every event, in order. A negative return value ends the drain with that
	 * error. */
	int (*deliver)(void *ctx, const struct event *event);
	void *ctx;
};

/* The cost of tracing for the traced processes, in a window of time. */
#define COST_PROGRAMS 32
struct cost_of_program {
	const char *name;
	uint64_t runs;
	uint64_t ns;
};
struct source_cost {
	uint64_t cpu_ns;     /* CPU time of traced processes, or of all if all have probes */
	uint64_t cost_ns;    /* cost of tracing, part of cpu_ns */
	uint64_t program_ns; /* in BPF programs; the rest is spent in breakpoints */
	uint64_t floor_ns;   /* what would remain if nothing were recorded */
	uint64_t hits;       /* of breakpoints */
	uint64_t calls;      /* of traced functions, nested ones included */
	uint64_t wall_ns;    /* length of the window */
	bool of_all;         /* cpu_ns is that of all processes */
	struct cost_of_program programs[COST_PROGRAMS]; /* names are valid as long as the source */
	size_t program_count;
};

struct source;

struct source_ops {
	const char *name; /* as in the report: "bpf" */
	int (*open)(struct source **ret_source, const struct source_config *config,
		    struct error *err);
	/*
	 * Traces a running process. When this returns 0, its probes are in place and verified, and
	 * EVENT_PROCESS, EVENT_MAPPING and EVENT_WRAPPER have been delivered. Otherwise returns
	 * -ESRCH, -EPERM, -ENOENT (no allocator found) or another -errno; sets *err.
	 */
	int (*attach)(struct source *source, pid_t pid, struct error *err);
	/*
	 * Traces a child that is paused before its exec and will run `program` (a path), so that no
	 * call of the new image is missed. `command` and `environment` are as for execve; `command`
	 * must outlive the source.
	 */
	int (*attach_launch)(struct source *source, pid_t pid, const char *program,
			     char *const *command, char *const *environment, struct error *err);
	/*
	 * A descriptor to poll edge-triggered (EPOLLIN | EPOLLET): it fires when much data is
	 * pending. Also call drain by a timer: small amounts do not wake anybody.
	 */
	int (*fd)(const struct source *source);
	/* With hold_exec: readable while a program is paused until drain. Otherwise -1. */
	int (*hold_fd)(const struct source *source);
	/* Delivers all events until now. Returns 0 or the first error of deliver. */
	int (*drain)(struct source *source);
	/* The maximum fill level of the ring buffer since the last call, in millionths; NULL: it
	 * has none. */
	uint64_t (*ring_peak)(struct source *source);
	/* With `measures`: start and end a window, and return its cost. Call each after a drain.
	 * Return 0 or -errno; -EAGAIN: the window has ended, and its cost will be known soon. NULL:
	 * the cost cannot be measured. */
	int (*cost_begin)(struct source *source);
	int (*cost_end)(struct source *source, struct source_cost *ret_cost);
	/* Sets the sample for heap calls from now on, as in records (0: report all; otherwise a
	 * level + 1). NULL: it cannot be changed. */
	void (*draw)(struct source *source, uint32_t sample);
	/* Delivers an EVENT_LOSSES for each process: what was missed so far. For processes that
	 * exit or leave, it is delivered automatically. */
	int (*deliver_losses)(struct source *source);
	/* Traces all selected running processes. Only for SCOPE_SYSTEM. */
	int (*attach_all)(struct source *source, struct error *err);
	/*
	 * Returns a holder, which can stop a process and pause it when it exits. NULL: the source
	 * is not the tracer of its processes, so anybody can do that. Returns 0 or -errno; sets
	 * *err.
	 */
	int (*hold)(struct source *source, const struct hold_request *request,
		    struct holder **ret_holder, struct error *err);
	/* Adds the addresses that only the kernel keeps for the threads of the process. The first
	 * call loads what it needs. Returns 0 or -errno. NULL: they are not known. */
	int (*thread_words)(struct source *source, pid_t pid, struct kernel_words *words);
	/* The number of processes that are still traced and alive. */
	uint32_t (*live)(const struct source *source);
	/* Removes all probes. Events in the buffer can still be drained. */
	void (*detach)(struct source *source);
	void (*close)(struct source *source); /* accepts NULL */
};

struct source {
	const struct source_ops *ops;
};

/* BACKEND_AUTO: BPF if available, otherwise ptrace. */
enum backend { BACKEND_AUTO, BACKEND_BPF, BACKEND_PTRACE };

/* What this machine supports: for `doctor`, and for the message when a trace cannot start. */
struct capability {
	const char *name; /* "uprobes", "BTF", "CAP_BPF" … */
	bool ok;
	bool needed;      /* nothing works without it */
	char detail[160]; /* what was found */
	char advice[160]; /* how to get it; "" if ok */
};
#define CAPABILITY_MAX 24

#endif
