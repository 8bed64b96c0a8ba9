/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finishes stacks whose walk could not continue in the kernel, with the same step function, and
 * with the registers and the part of the stack that the BPF program sent (bpf/stack_dump.bpf.h).
 *
 * User space has what the kernel lacked: the row of any instruction, for frames interrupted by a
 * signal, and tables that came too late for the first calls of their code. The row of an
 * interrupted frame is passed to the BPF programs, so that the next stack through the same
 * instruction needs no stack dump.
 */
#ifndef MTRACE_SOURCE_UNWIND_STACK_DUMP_H
#define MTRACE_SOURCE_UNWIND_STACK_DUMP_H

#include "source/process/traced_process.h"

/* A finished stack. */
struct finished_stack {
	uint64_t frames[STACK_MAX_FRAMES + 1];
	uint32_t count;
	uint32_t stop; /* enum stack_stop */
	uint64_t id;   /* equal for equal stacks while the process's mappings are the same */
};

/*
 * Continues the walk where the kernel stopped. `read_mappings` rereads the mappings of the process;
 * it is called at most once, for code that was not mapped by the dynamic linker. Only the size of
 * the record's head has been checked. Returns 0, or -EINVAL for an invalid record.
 */
int stack_dump_finish(struct traced_process *process, const struct record_stack_dump *record,
		      uint32_t depth,
		      int (*read_mappings)(struct traced_process *process, uint64_t since_ns),
		      struct finished_stack *ret_stack);

/*
 * Each stack dump has a unique id, because its stack is not known yet, and exactly one call will
 * refer to it. Until then, remember the id of the finished stack.
 */
#define STACK_DUMPS_PENDING 1024 /* a power of two */

struct stack_dump_ids {
	struct {
		uint64_t dump, stack;
	} pending[STACK_DUMPS_PENDING];
};

void stack_dump_remember(struct stack_dump_ids *ids, uint64_t dump, uint64_t stack);
/* Returns the id of a call's stack. */
uint64_t stack_dump_finished_id(const struct stack_dump_ids *ids, uint64_t id);

#endif
