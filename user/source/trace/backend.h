/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a source that BPF and ptrace share, and the processes that it traces now. */
#ifndef MTRACE_SOURCE_TRACE_BACKEND_H
#define MTRACE_SOURCE_TRACE_BACKEND_H

#include "base/map64.h"
#include "source/record/ring.h"
#include "source/source.h"
#include "source/process/traced_process.h"
#include "source/unwind/slice.h"

struct trace_source;
struct hold;
struct loaded_programs;
struct ring_reader;

/*
 * What had no room in the ring, and waits (bpf/untold.bpf.h): each is taken by whoever asks for it.
 * All that was told before it has arrived, for whoever looks first, reads the ring, and takes then.
 */
struct untold_ops {
	bool (*birth)(struct trace_source *trace, pid_t pid, struct record_fork *ret_birth);
	/* An exec, or a leave, of before that time. */
	bool (*exec)(struct trace_source *trace, pid_t pid, uint64_t before_ns,
		     struct record_exec *ret_exec);
	/* Who was born to that parent before that time: pids. */
	size_t (*births_of)(const struct trace_source *trace, pid_t parent, uint64_t before_ns,
			    uint32_t ret_pids[BIRTHS_UNTOLD]);
	/* The kernel side shall not know that process any more: its end was not told. */
	void (*forget)(struct trace_source *trace, pid_t pid);
};

struct trace_source {
	struct source source; /* first: what the session holds */
	struct source_config config;
	const struct probe_ops *probe_ops;
	/* What a tracer by ptrace asks for: RECORD_HELD, RECORD_AT_END. NULL: there is none. */
	int (*held)(struct trace_source *trace, const struct record_head *head);
	const struct untold_ops *untold; /* NULL: nothing of that is lost */
	/* What the kernel side has counted; zeros for a process that it does not know. NULL: the
	 * backend counts by itself. */
	void (*losses)(const struct trace_source *trace, pid_t pid, uint64_t ret_count[LOSS_COUNT]);
	uint32_t births_found;   /* of those */
	uint32_t mappings_found; /* likewise, processes with new mappings */
	struct prober *prober;
	struct unwind_tables *tables; /* NULL if stacks are not by tables */
	struct ring ring;
	struct ring_reader *reader;
	uint64_t ring_peak; /* bytes in it at most when it was read, since somebody asked */
	struct slice_ids slices;
	struct shared_probes shared;       /* of SCOPE_SYSTEM */
	struct traced_process **processes; /* those that are traced now */
	size_t process_count, process_capacity;
	struct map64 index_of_pid;
	size_t looked_after; /* see look_after_one */
	uint64_t newest_ns;  /* time of the newest event */
	uint64_t calls_told; /* calls that returned, told so far */
	/* Of BPF only: */
	struct loaded_programs *program; /* source/bpf/load/loaded_programs.h */
	struct hold *hold;               /* source/bpf/hold.h */
	struct bpf_cost *cost;           /* source/bpf/cost/cost.h; NULL: it is not measured */
};

/* NULL if that pid is not traced. */
struct traced_process *processes_find(const struct trace_source *trace, pid_t pid);

/* On whose account probes are placed that are for everybody. */
struct traced_process processes_nobody(struct trace_source *trace);

/* One that the kernel side has entered, or of which only we know. 0 or -ENOMEM. */
int processes_new(struct trace_source *trace, pid_t pid, struct traced_process **ret_process);
/* Removes and frees it. The model still knows it. */
void processes_remove(struct trace_source *trace, struct traced_process *process);

#endif
