/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loaded BPF programs, and how they are attached. What the kernel can do is found by trying:
 * each means is loaded and run on a child of our own, best first, until one gives right records.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_PROGRAM_H
#define MTRACE_SOURCE_BPF_LOAD_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/map64.h"
#include "base/vec.h"
#include "bpf/abi.h"
#include "os/process/heir.h"
#include "source/bpf/events/events.h"
#include "source/bpf/load/kernel.h"
#include "source/thinning.h"
#include "source/trace/probe_request.h"

struct bpf_link;
struct mtrace_bpf;
struct program;

enum attach {
	ATTACH_MULTI,     /* one link for many sites (Linux 6.6) */
	ATTACH_PERF,      /* one perf event per site */
	ATTACH_INHERITED, /* trace events that children have too: source/bpf/events/events.h */
};

/* One row per way to attach and to carry a call's arguments from entry to return. */
struct means {
	const char *name; /* as --pairing names it */
	enum pairing pairing;
	enum attach attach;
	uint32_t scopes; /* set of (1 << enum scope) that it serves */
	const char *words;
};

struct program_config {
	const char *pairing;   /* name of the only means to try, or NULL */
	uint32_t depth;        /* frames per stack, 0 for none */
	uint32_t unwind_rows;  /* room for unwind tables; 0: stacks are by frame pointers */
	uint64_t buffer_bytes; /* a power of two */
	enum scope scope;
	const struct selection *selection; /* of SCOPE_SYSTEM; NULL: everything */
	uint32_t pid_namespace;            /* by pid_namespace_find; filled in by program_load */
	bool sanity;                       /* as in struct source_config */
	struct thinning thinning;          /* likewise */
	bool measures;                     /* likewise */
};

/* What is done with the programs by those that do not know them. Without programs (by ptrace) there
 * is no row, and nothing to be done. */
struct program_ops {
	int (*attach)(struct program *program, const struct probe_request *request,
		      struct probe_links *links);
	int (*commit)(struct program *program, pid_t pid, struct probe_links *links);
	void (*close)(const struct program *program, struct probe_links *links);
	void (*leave)(struct program *program, struct probe_links *links);
	void (*inherit)(struct probe_links *child, const struct probe_links *parent);
	/* A process that has lost its first thread is looked up by other means, and no more. */
	int (*leader_lost)(const struct program *program, pid_t pid);
	void (*leader_found)(const struct program *program, pid_t pid);
};

struct program {
	const struct program_ops *ops;
	struct mtrace_bpf *skeleton;
	struct mtrace_bpf *exits; /* program_load_exits */
	struct program_config config;
	const struct means *means;
	struct kernel_types kernel;
	struct probe_events events;   /* of ATTACH_INHERITED */
	struct probe_links self_test; /* closed at the end only: closing waits for the kernel */
	struct heir heir;             /* takes the probes out, also when we are killed */
	VEC(int) left;                /* that are still to be closed by it */
	struct map64 allocators;      /* module id → number, from 0 */
	bool unwinds;                 /* stacks are by tables */
	bool everybody;               /* probes are in all processes that map a file */
	bool seccomp_safe; /* a return probe leaves a process in strict seccomp mode alive */
};

/* Load by the best means that works here. 0 or -errno with words that say what is missing. */
int program_load(struct program *ret_program, const struct program_config *config,
		 struct error *err);
void program_unload(struct program *program);
/*
 * The programs of calls that are watched at their exits: as much work for the verifier as those of
 * all other calls, and most processes have nothing to watch like that. Loaded when the first such
 * probe is attached, or by this. 0 or -errno.
 */
int program_load_exits(struct program *program);

/* The sites are probed when this returns; but by means that children inherit, when those of all
 * files have been gathered and program_commit is called. The request's path has to last. */
static inline int program_attach(struct program *program, const struct probe_request *request,
				 struct probe_links *links)
{
	return program->ops ? program->ops->attach(program, request, links) : 0;
}

static inline int program_commit(struct program *program, pid_t pid, struct probe_links *links)
{
	return program->ops ? program->ops->commit(program, pid, links) : 0;
}

static inline void program_close(const struct program *program, struct probe_links *links)
{
	if (program->ops)
		program->ops->close(program, links);
}

/* The same where it is no matter when the probes are gone, as nobody looks at what they tell any
 * more: before program_unload() returns. */
static inline void program_leave(struct program *program, struct probe_links *links)
{
	if (program->ops)
		program->ops->leave(program, links);
}

/* Close them with the self test's: closing waits for the kernel, which it does for all at once. */
void program_gather(struct program *program, struct probe_links *links);

/* A child has what its parent has, if children inherit it. */
static inline void program_inherit(const struct program *program, struct probe_links *child,
				   const struct probe_links *parent)
{
	if (program->ops)
		program->ops->inherit(child, parent);
}

/* Tracepoints of exec and exit. */
int program_attach_tasks(struct program *program, struct error *err);

#endif
