/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks whose walk could not go on in the kernel are finished here, by the same step function,
 * with the registers and the piece of stack that the BPF program sent (bpf/slice.bpf.h).
 *
 * What the kernel lacked is at hand: the row of any instruction, for a frame that a signal
 * interrupted, and tables that came too late for the first calls of their code. The row of an
 * interrupted frame is told to the BPF programs, so that the next stack through that very place
 * needs no slice.
 */
#ifndef MTRACE_SOURCE_UNWIND_SLICE_H
#define MTRACE_SOURCE_UNWIND_SLICE_H

#include "source/process/traced_process.h"

/* A stack that was walked. */
struct finished_stack {
	uint64_t frames[STACK_MAX_FRAMES + 1];
	uint32_t count;
	uint32_t stop; /* enum stack_stop */
	uint64_t id;   /* the same for equal ones, as long as the process's mappings are */
};

/*
 * Walks on from where the kernel stopped. `read_mappings` reads the process's mappings anew; it is
 * called at most once, for code that the process has mapped unannounced. Of the record's size only
 * that of its head was checked. 0, or -EINVAL for a record that makes no sense.
 */
int slice_finish(struct traced_process *process, const struct record_slice *record, uint32_t depth,
		 int (*read_mappings)(struct traced_process *process, uint64_t since_ns),
		 struct finished_stack *ret_stack);

/*
 * Each slice comes under an id of its own, as nobody knows yet what stack it is; exactly one call
 * will name it. Until then it is remembered that the stack is known by another id.
 */
#define SLICES_PENDING 1024 /* a power of two */

struct slice_ids {
	struct {
		uint64_t slice, stack;
	} pending[SLICES_PENDING];
};

void slice_remember(struct slice_ids *ids, uint64_t slice, uint64_t stack);
/* What a call's stack is known by. */
uint64_t slice_stack(const struct slice_ids *ids, uint64_t id);

#endif
