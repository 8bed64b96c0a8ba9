/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF source is made of, and the processes that it traces at this moment. */
#ifndef MTRACE_SOURCE_BPF_SOURCE_H
#define MTRACE_SOURCE_BPF_SOURCE_H

#include "base/map64.h"
#include "source/bpf_hold.h"
#include "source/bpf_process.h"
#include "source/ring.h"
#include "source/slice.h"
#include "source/source.h"

struct bpf_source {
	struct source source; /* first: what the session holds */
	struct source_config config;
	const struct probe_ops *probe_ops;
	/* What a tracer by ptrace asks for: RECORD_HELD, RECORD_AT_END. NULL: there is none. */
	int (*held)(struct bpf_source *bpf, const struct record_head *head);
	/* The birth of a process that had no room in the ring; false if there is none. NULL: births
	 * are not lost. */
	bool (*untold_birth)(struct bpf_source *bpf, pid_t pid, struct record_fork *ret_birth);
	uint32_t births_found; /* of those */
	struct program program;
	struct unwind_tables *tables; /* NULL if stacks are not by tables */
	struct ring ring;
	struct ring_reader *reader;
	uint64_t ring_peak; /* bytes in it at most when it was read, since somebody asked */
	struct slice_ids slices;
	struct shared_probes shared; /* of SCOPE_SYSTEM */
	struct hold hold;
	struct bpf_process **processes; /* those that are traced now */
	size_t process_count, process_capacity;
	struct map64 index_of_pid;
	size_t looked_after;   /* see look_after_one */
	uint64_t newest_ns;    /* time of the newest event */
	struct bpf_cost *cost; /* bpf_cost.h; NULL: it is not measured */
	uint64_t calls_told;   /* calls that returned, told so far */
	uint64_t ended_cpu_ns; /* of processes that ended since a window began: their share */
};

/* A record of the ring, to be decoded and delivered. ctx is a struct bpf_source. */
int record_arrived(void *ctx, const void *data, size_t size);
/* One of an end that was lost. */
int record_of_end(struct bpf_source *bpf, const struct record_exit *end, struct event *event);
/* Who is not known may have been born without room to tell it: then it is born now. */
int record_of_birth(struct bpf_source *bpf, pid_t pid);

/* That it has had of processors since its cpu_ns was noted. */
uint64_t process_cpu_passed(const struct bpf_process *process);

/* NULL if that pid is not traced. */
struct bpf_process *processes_find(const struct bpf_source *bpf, pid_t pid);

/* On whose account probes are placed that are for everybody. */
struct bpf_process processes_nobody(struct bpf_source *bpf);

/* One that the kernel side has entered, or of which only we know. 0 or -ENOMEM. */
int processes_new(struct bpf_source *bpf, pid_t pid, struct bpf_process **ret_process);
/* Forget it: only the books remember it. */
void processes_remove(struct bpf_source *bpf, struct bpf_process *process);

/* The same, and tell the kernel side: of BPF alone (bpf_entered.c), as the counters are. 0 or
 * -errno with words. */
int processes_enter(struct bpf_source *bpf, pid_t pid, struct bpf_process **ret_process,
		    struct error *err);
void processes_forget(struct bpf_source *bpf, struct bpf_process *process);

/* Births that had no room in the ring: which are kept by now, and one of them, which is taken. */
size_t births_untold(const struct bpf_source *bpf, uint32_t ret_pids[BIRTHS_UNTOLD]);
bool births_take(struct bpf_source *bpf, pid_t pid, struct record_fork *ret_birth);

/* What the kernel side has counted; zero if it is not entered any more. */
void processes_losses(const struct bpf_source *bpf, pid_t pid, uint64_t ret_count[LOSS_COUNT]);
/* Deliver EVENT_LOSSES: what was counted, and what we know. */
int processes_tell_losses(const struct bpf_process *process, const uint64_t count[LOSS_COUNT]);

#endif
