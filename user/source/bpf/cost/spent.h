/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the traced processes had of processors in a window of time, those that ended within it with
 * all they had: in a family that is most of them. Who lives is asked by his clock, who has ended is
 * told by the kernel side (bpf/ended.bpf.h), a moment later.
 */
#ifndef MTRACE_SOURCE_BPF_COST_SPENT_H
#define MTRACE_SOURCE_BPF_COST_SPENT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/map64.h"
#include "base/vec.h"

struct trace_source;

struct spent {
	struct map64 index_of_pid; /* into counted */
	VEC(uint64_t) counted;     /* what each process had before, or is in `ns` already */
	uint64_t ns;
	uint64_t all_ns; /* of all processes, where all have our probes */
	uint32_t asked;  /* for the sum, since the window's end */
};

void spent_begin(struct trace_source *bpf, struct spent *spent);
/* The window is over. */
void spent_end(struct trace_source *bpf, struct spent *spent);
/* Nanoseconds: 0, or -EAGAIN while it is not yet known of all, but not for ever. */
int spent_sum(struct trace_source *bpf, struct spent *spent, uint64_t *ret_ns);
void spent_free(struct spent *spent); /* zeroed memory is fine */

#endif
