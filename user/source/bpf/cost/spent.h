/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU time of the traced processes in a window of time. Processes that exited within the window
 * count with their whole time since the last reading: in a family, these are most of them. Living
 * processes are read from their CPU clocks; exited ones are reported by the BPF programs
 * (bpf/exit_time.bpf.h), a moment later.
 */
#ifndef MTRACE_SOURCE_BPF_COST_SPENT_H
#define MTRACE_SOURCE_BPF_COST_SPENT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/map64.h"
#include "base/vec.h"

struct trace_source;

struct spent {
	struct map64 index_of_pid; /* index into `counted` */
	VEC(uint64_t) counted;     /* what each process had before, or is already in `ns` */
	uint64_t ns;
	uint64_t all_ns; /* of all processes, if all have our probes */
	uint32_t asked;  /* calls of spent_sum() since the end of the window */
};

void spent_begin(struct trace_source *bpf, struct spent *spent);
/* Ends the window. */
void spent_end(struct trace_source *bpf, struct spent *spent);
/* Returns 0 and the sum in nanoseconds, or -EAGAIN while some are not known yet; gives up at some
 * point. */
int spent_sum(struct trace_source *bpf, struct spent *spent, uint64_t *ret_ns);
void spent_free(struct spent *spent); /* accepts zeroed memory */

#endif
