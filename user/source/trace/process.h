/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One traced process as the BPF source sees it: its probes, its modules, and what of its mappings
 * was told already. Everything that it learns it delivers as events.
 */
#ifndef MTRACE_SOURCE_TRACE_PROCESS_H
#define MTRACE_SOURCE_TRACE_PROCESS_H

#include "base/map64.h"
#include "base/vec.h"
#include "os/process/cgroup.h"
#include "os/process/proc.h"
#include "source/bpf/load/program.h"
#include "source/source.h"
#include "source/unwind/tables.h"

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

struct bpf_process;

/* How probes get into a process: what the kernel does with the BPF source, and we do by ptrace. */
struct probe_ops {
	/* Those of a module, mapped or not. 0 or -errno. */
	int (*place)(struct bpf_process *process, const struct module *module,
		     const struct probe_plan *plan);
	/* Of all modules since the last time; NULL: they were there at once. 0 or -errno. */
	int (*commit)(struct bpf_process *process);
	/* Are they there, in a mapping that was just told? */
	void (*verify)(struct bpf_process *process, const struct module *module,
		       const struct told_mapping *mapping);
};

/* Where a thread last began to free, and by which of several allocators. */
struct last_free {
	uint64_t address;
	uint8_t object;
};

struct bpf_process {
	const struct source_config *config;
	const struct probe_ops *ops;
	struct program *program;
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

/*
 * A child begins as a copy of its parent: its modules, and the probes that it has inherited. NULL
 * as parent: nothing was known of it. Delivers EVENT_FORK.
 */
int bpf_process_fork(struct bpf_process *process, const struct bpf_process *parent,
		     const struct record_fork *fork);

/* Attach to all modules that the process maps now, deliver them, and verify the probes. */
int bpf_process_attach(struct bpf_process *process, struct error *err);

/*
 * Take the probes out and place them anew, in all files that had them. What was called since then
 * is a gap. 0 or -ENOMEM.
 */
int bpf_process_attach_again(struct bpf_process *process, uint64_t since_ns);

/* Attach to all files that the program will map. */
int bpf_process_attach_launch(struct bpf_process *process, const char *program,
			      char *const *command, char *const *environment, struct error *err);

/* A new image: forget the mappings, deliver EVENT_PROCESS or EVENT_EXEC. */
int bpf_process_exec(struct bpf_process *process, const struct record_exec *exec);

/* An executable mapping, as the kernel told it; without name and range: look for yourself. */
int bpf_process_mapping(struct bpf_process *process, const struct record_mapping *record);

/*
 * Is this free a part of the thread's last one: of the same address, by another allocator, to which
 * the first one (a preloaded one, say) hands on?
 */
bool bpf_process_is_nested_free(struct bpf_process *process, uint32_t tid, uint64_t address,
				uint8_t object);

/* Hand on an event of the process; the time is now if none is given. */
int bpf_process_deliver(const struct bpf_process *process, struct event *event);

/* Take the probes out. */
void bpf_process_detach(struct bpf_process *process);
void bpf_process_free(struct bpf_process *process);

#endif
