/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One traced process: its probes, its modules, and which of its mappings have been delivered. What
 * happens to it is in source/trace/process.h.
 */
#ifndef MTRACE_SOURCE_PROCESS_TRACED_PROCESS_H
#define MTRACE_SOURCE_PROCESS_TRACED_PROCESS_H

#include "base/map64.h"
#include "base/vec.h"
#include "os/process/cgroup.h"
#include "source/process/probe_request.h"
#include "source/process/prober.h"
#include "source/source.h"

struct unwind_tables;

/* An executable mapping that was delivered. */
struct told_mapping {
	uint64_t start, end, offset;
	uint32_t module;
};

/* Probes of all processes together: those that are placed for everybody. */
struct shared_probes {
	struct probe_links links;
	struct map64 attached;   /* module id → index into placed_ns */
	VEC(uint64_t) placed_ns; /* when its probes were in place */
	size_t leaderless;       /* processes for whom they are, in SCOPE_NAMED */
	/* Of translated.h: */
	bool paused;                /* there is a translator: no links */
	uint64_t paused_ns;         /* since when */
	uint64_t seen_ns;           /* when the newest one began, and … */
	uint64_t checked_ns;        /* … when it was last looked for */
	pid_t translator;           /* one that runs; 0: not known */
	uint32_t translators_begun; /* as far as the kernel's count was heeded */
};

struct traced_process;

/* How probes get into a process: the kernel places them for BPF, the guardian for ptrace. */
struct probe_ops {
	/* Those of a module, mapped or not. 0 or -errno. */
	int (*place)(struct traced_process *process, const struct module *module,
		     const struct probe_plan *plan);
	/* Of all modules since the last time; NULL: they were there at once. 0 or -errno. */
	int (*commit)(struct traced_process *process);
	/* Are they there, in a mapping that was just told? */
	void (*verify)(struct traced_process *process, const struct module *module,
		       const struct told_mapping *mapping);
};

/* Where a thread last began to free, and by which of several allocators. */
struct last_free {
	uint64_t address;
	uint8_t object;
};

struct traced_process {
	const struct source_config *config;
	const struct probe_ops *ops;
	struct prober *prober;
	struct unwind_tables *tables; /* NULL if stacks are not by tables */
	pid_t pid;
	bool awaits_exec; /* launched and held: what runs until exec is ours, not the program's */
	bool from_start;  /* every block of its present image is known, but for losses */
	const char *const *launched_command; /* of a launched one, else NULL */
	struct cgroup cgroup;                /* as it was last read, or its parent's */
	struct shared_probes *shared;        /* probes are for everybody; else NULL */
	bool leaderless;                     /* its first thread has ended: see leader.h */
	uint64_t shared_ns; /* since when by shared probes; what was mapped before it is a gap */
	struct probe_links links;
	struct map64 attached; /* module id → 1 */
	uint64_t attached_ns;  /* when the newest probe was in place */
	uint64_t entered_ns;
	uint64_t placed_ns; /* the newest of those that are counted since it was set to 0 */
	bool uncommitted;   /* there are sites for probes_commit to probe */
	struct map64 told;  /* start address → index into mappings */
	struct told_mapping *mappings;
	size_t mapping_count, mapping_capacity;
	uint64_t mappings_told; /* ever */
	struct map64 calls; /* return address → enum verdict (source/unwind/stack_check.c) … */
	uint64_t calls_of;  /* … as of that many mappings */
	bool translated;    /* by valgrind, which would run our breakpoints: no probes */
	bool sanitizer_told;
	uint32_t allocator_objects; /* modules with probes of allocation functions so far */
	struct map64 last_freed;    /* tid → index into frees */
	VEC(struct last_free) frees;
	bool watches_exits; /* of calls that may throw: then throwing is watched too */
	size_t site_count;  /* probes in place or waiting for their module to be mapped */
	uint64_t unprobed_sites;
	uint64_t gap_ns;
};

/* Delivers an event of the process. An event without a time gets the current time. Returns what
 * `deliver` returns. */
int traced_process_deliver(const struct traced_process *process, struct event *event);

/* The module whose code is at an address, and the offset in its file; NULL if there is none. */
const struct module *mapping_find(const struct traced_process *process, uint64_t address,
				  uint64_t *ret_offset);

/* The thread to read in /proc in place of the process: its first thread may have ended. 0 if none
 * is left. */
pid_t traced_process_reader(const struct traced_process *process);

#endif
