/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF source is made of, and the processes that it traces at this moment. */
#ifndef MTRACE_SOURCE_TRACE_BACKEND_H
#define MTRACE_SOURCE_TRACE_BACKEND_H

#include "base/map64.h"
#include "source/bpf/hold.h"
#include "source/record/ring.h"
#include "source/source.h"
#include "source/trace/process.h"
#include "source/unwind/slice.h"

/*
 * What had no room in the ring, and waits (bpf/untold.bpf.h): each is taken by whoever asks for it.
 * All that was told before it has arrived, for whoever looks first, reads the ring, and takes then.
 */
struct untold_ops {
	bool (*birth)(struct bpf_source *bpf, pid_t pid, struct record_fork *ret_birth);
	/* An exec, or a leave, of before that time. */
	bool (*exec)(struct bpf_source *bpf, pid_t pid, uint64_t before_ns,
		     struct record_exec *ret_exec);
	/* Who was born to that parent before that time: pids. */
	size_t (*births_of)(const struct bpf_source *bpf, pid_t parent, uint64_t before_ns,
			    uint32_t ret_pids[BIRTHS_UNTOLD]);
	/* The kernel side shall not know that process any more: its end was not told. */
	void (*forget)(struct bpf_source *bpf, pid_t pid);
};

struct bpf_source {
	struct source source; /* first: what the session holds */
	struct source_config config;
	const struct probe_ops *probe_ops;
	/* What a tracer by ptrace asks for: RECORD_HELD, RECORD_AT_END. NULL: there is none. */
	int (*held)(struct bpf_source *bpf, const struct record_head *head);
	const struct untold_ops *untold; /* NULL: nothing of that is lost */
	uint32_t births_found;           /* of those */
	uint32_t mappings_found;         /* likewise, processes with new mappings */
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
	struct bpf_cost *cost; /* source/bpf/cost/cost.h; NULL: it is not measured */
	uint64_t calls_told;   /* calls that returned, told so far */
};

/* A record of the ring, to be decoded and delivered. ctx is a struct bpf_source. */
int record_arrived(void *ctx, const void *data, size_t size);
/* One of an end that was lost. */
int record_of_end(struct bpf_source *bpf, const struct record_exit *end, struct event *event);
/* Who is not known may have been born without room to tell it: then it is born now. */
int record_of_birth(struct bpf_source *bpf, pid_t pid);
/* Whose exec found no room executes now. */
int record_of_exec(struct bpf_source *bpf, pid_t pid);

/* NULL if that pid is not traced. */
struct bpf_process *processes_find(const struct bpf_source *bpf, pid_t pid);

/* On whose account probes are placed that are for everybody. */
struct bpf_process processes_nobody(struct bpf_source *bpf);

/* One that the kernel side has entered, or of which only we know. 0 or -ENOMEM. */
int processes_new(struct bpf_source *bpf, pid_t pid, struct bpf_process **ret_process);
/* Forget it: only the books remember it. */
void processes_remove(struct bpf_source *bpf, struct bpf_process *process);

/* The same, and tell the kernel side: of BPF alone (source/bpf/entered.c), as the counters are. 0
 * or -errno with words. */
int processes_enter(struct bpf_source *bpf, pid_t pid, struct bpf_process **ret_process,
		    struct error *err);
void processes_forget(struct bpf_source *bpf, struct bpf_process *process);

/* What had no room in the ring: of whom it waits by now. Execs are to be asked for first, for
 * nobody's children born before one shall be missed. */
size_t execs_untold(const struct bpf_source *bpf, uint32_t ret_pids[EXECS_UNTOLD]);
size_t births_untold(const struct bpf_source *bpf, uint32_t ret_pids[BIRTHS_UNTOLD]);
size_t mappings_untold(const struct bpf_source *bpf, uint32_t ret_pids[MAPPINGS_UNTOLD]);
extern const struct untold_ops untold_ops;
/* Since when; false if all have been told. */
bool mappings_take(struct bpf_source *bpf, pid_t pid, uint64_t *ret_since_ns);

/* What the kernel side has counted; zero if it is not entered any more. */
void processes_losses(const struct bpf_source *bpf, pid_t pid, uint64_t ret_count[LOSS_COUNT]);
/* Deliver EVENT_LOSSES: what was counted, and what we know. */
int processes_tell_losses(const struct bpf_process *process, const uint64_t count[LOSS_COUNT]);

#endif
