/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One traced process: its probes, its modules, and the mappings that have been delivered. For its
 * life see source/trace/process.h.
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
struct gated_module;

/* An executable mapping that was delivered. */
struct delivered_mapping {
	uint64_t start, end, offset;
	uint32_t module;
};

/* Probes that are in all processes. */
struct shared_probes {
	struct probe_links links;
	struct map64 attached;   /* module id → index into placed_ns */
	VEC(uint64_t) placed_ns; /* time at which its probes were in place */
	size_t leader_exited;    /* number of processes that need them in SCOPE_NAMED */
	/* See translated.h: */
	bool paused;                /* a translator is running: no links */
	uint64_t paused_ns;         /* time of the pause */
	uint64_t seen_ns;           /* start of the newest translator */
	uint64_t checked_ns;        /* last check */
	pid_t translator;           /* pid of a running one; 0: unknown */
	uint32_t translators_begun; /* the last count of the BPF programs that was handled */
};

struct traced_process;

/* How probes are placed in a process: by the kernel for BPF, by the tracer process for ptrace. */
struct probe_ops {
	/* Places those of a module, mapped or not. Returns 0 or -errno. */
	int (*place)(struct traced_process *process, const struct module *module,
		     const struct probe_plan *plan);
	/* Activates those placed since the last call; NULL: they are active at once. Returns 0 or
	 * -errno. */
	int (*commit)(struct traced_process *process);
	/* Checks that they are in place, in a mapping that was just delivered. */
	void (*verify)(struct traced_process *process, const struct module *module,
		       const struct delivered_mapping *mapping);
};

/* The last free of a thread, and its allocator. */
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
	bool awaits_exec; /* launched and paused: until exec it runs our code, not the program */
	bool from_start;  /* every block of its current image is known, except for losses */
	const char *const *launched_command; /* of a launched process, otherwise NULL */
	struct cgroup cgroup;                /* as last read, or its parent's */
	struct shared_probes *shared;        /* uses probes in all processes; otherwise NULL */
	bool leader_exited;                  /* its leader has exited: see leader.h */
	uint64_t shared_ns; /* start of shared probes; earlier mappings have a gap */
	struct probe_links links;
	VEC(struct gated_module *) gated; /* modules with gates: source/gate/gated.h */
	struct map64 attached;            /* module id → 1 */
	uint64_t attached_ns;             /* time at which the newest probe was in place */
	uint64_t entered_ns;
	uint64_t placed_ns;     /* the newest one since this was set to 0 */
	bool uncommitted;       /* probes_commit() has sites to probe */
	struct map64 delivered; /* start address → index into mappings */
	struct delivered_mapping *mappings;
	size_t mapping_count, mapping_capacity;
	uint64_t mappings_delivered; /* total */
	struct map64 return_sites;   /* return address → enum return_site
					(source/unwind/stack_check.c) … */
	uint64_t return_sites_of;    /* … valid for this value of mappings_delivered */
	bool translated;             /* run by valgrind or qemu: no probes */
	bool sanitizer_reported;
	uint32_t allocator_objects; /* modules with probed allocation functions so far */
	struct map64 last_freed;    /* tid → index into frees */
	VEC(struct last_free) frees;
	bool watches_exits; /* has exit probes, so throwing is probed, too */
	size_t site_count;  /* probes in place or waiting for their module to be mapped */
	uint64_t unprobed_sites;
	uint64_t gap_ns;
};

/* Delivers an event of the process. An event without a time gets the current time. Returns what
 * `deliver` returns. */
int traced_process_deliver(const struct traced_process *process, struct event *event);

/* The module that contains a code address, and the offset in its file; NULL if there is none. */
const struct module *mapping_find(const struct traced_process *process, uint64_t address,
				  uint64_t *ret_offset);

/* The thread to use in /proc instead of the process, whose leader may have exited. 0 if none is
 * left. */
pid_t traced_process_reader(const struct traced_process *process);

/* Returns true if an error ends the trace: out of memory, or out of descriptors. */
bool traced_process_must_fail(const struct traced_process *process, int code);

#endif
