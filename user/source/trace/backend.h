/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a source that BPF and ptrace share, with the processes that it traces. */
#ifndef MTRACE_SOURCE_TRACE_BACKEND_H
#define MTRACE_SOURCE_TRACE_BACKEND_H

#include "base/map64.h"
#include "source/record/ring.h"
#include "source/source.h"
#include "source/process/traced_process.h"
#include "source/unwind/stack_dump.h"

struct trace_source;
struct hold;
struct loaded_programs;
struct ring_reader;

/*
 * Deferred records, which did not fit into the ring buffer (bpf/deferred.bpf.h). A caller takes
 * each of them once. To get everything that was reported earlier, look for one first, then read the
 * ring, then take it.
 */
struct deferred_ops {
	bool (*fork)(struct trace_source *trace, pid_t pid, struct record_fork *ret_fork);
	/* An exec or a leave before that time. */
	bool (*exec)(struct trace_source *trace, pid_t pid, uint64_t before_ns,
		     struct record_exec *ret_exec);
	/* The pids of that parent's children forked before that time. */
	size_t (*forks_of)(const struct trace_source *trace, pid_t parent, uint64_t before_ns,
			   uint32_t ret_pids[FORKS_DEFERRED]);
	/* Makes the BPF programs forget a process whose exit was not reported. */
	void (*forget)(struct trace_source *trace, pid_t pid);
};

struct trace_source {
	struct source source; /* first member: the session's handle */
	struct source_config config;
	const struct probe_ops *probe_ops;
	/* Handles RECORD_HELD and RECORD_AT_END of the ptrace tracer. NULL with BPF. */
	int (*held)(struct trace_source *trace, const struct record_head *head);
	const struct deferred_ops *deferred; /* NULL: nothing is deferred */
	/* The counters of the BPF programs; zeros for an unknown process. NULL: the backend counts
	 * by itself. */
	void (*losses)(const struct trace_source *trace, pid_t pid, uint64_t ret_count[LOSS_COUNT]);
	uint32_t forks_found;    /* deferred forks found */
	uint32_t mappings_found; /* processes with deferred mappings found */
	struct prober *prober;
	struct unwind_tables *tables; /* NULL if stacks are not by tables */
	struct ring ring;
	struct ring_reader *reader;
	uint64_t ring_peak; /* maximum bytes found in it, since the last query */
	struct stack_dump_ids stack_dumps;
	struct shared_probes shared;       /* probes in all processes */
	struct traced_process **processes; /* currently traced */
	size_t process_count, process_capacity;
	struct map64 index_of_pid;
	size_t next_exit_check;  /* see check_one_exit */
	uint64_t newest_ns;      /* time of the newest event */
	uint64_t calls_recorded; /* finished calls reported so far */
	/* Only with BPF: */
	struct loaded_programs *program; /* source/bpf/load/loaded_programs.h */
	struct hold *hold;               /* source/bpf/hold.h */
	struct bpf_cost *cost;           /* source/bpf/cost/cost.h; NULL: it is not measured */
};

/* NULL if the pid is not traced. */
struct traced_process *processes_find(const struct trace_source *trace, pid_t pid);

/* The placeholder process that owns probes in all processes. */
struct traced_process processes_nobody(struct trace_source *trace);

/* Adds a process, which the BPF programs may or may not know. Returns 0 or -ENOMEM. */
int processes_new(struct trace_source *trace, pid_t pid, struct traced_process **ret_process);
/* Removes and frees it. The model keeps its data. */
void processes_remove(struct trace_source *trace, struct traced_process *process);

#endif
