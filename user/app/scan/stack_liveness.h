/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which words on the stacks of stopped threads can the program still read? The others are leftovers
 * of calls that have returned, not references.
 *
 * Each thread's stack is unwound. A word belongs to the frame whose stack pointer and CFA enclose
 * it. The code of that frame's function, from where the frame continues, shows whether the word is
 * read before it is overwritten (symbol/liveness/liveness.h). A slot in which a function saved a
 * register of its caller is a reference if the caller reads that register; the same applies to the
 * register itself. Words and registers of analysed functions count as references unless they are
 * proven dead. Nothing is known (REFERENCE_UNKNOWN) about words of frames that are not analysed,
 * or that lie at or above a frame that cannot be unwound, and about registers whose next reader
 * would be such a frame.
 */
#ifndef MTRACE_APP_SCAN_STACK_LIVENESS_H
#define MTRACE_APP_SCAN_STACK_LIVENESS_H

#include <stddef.h>

#include "model/process/state.h"
#include "os/ptrace/tracee.h"
#include "parser/client/client.h"
#include "scan/scan_types.h"
#include "symbol/elf/module_table.h"

struct stack_liveness;

/* The input; must outlive struct stack_liveness. */
struct stack_liveness_config {
	const struct process *process; /* its mappings locate code */
	struct module_table *modules;
	struct parser *parser;
	/* Ranges that are stacks are unwound; no frame extends beyond its range. */
	const struct scan_range *ranges;
	size_t range_count;
};

/*
 * Copies what it needs from the registers. Returns 0, -ENOMEM, or -ENOTSUP for threads on
 * processors whose code cannot be analysed.
 */
int stack_liveness_new(struct stack_liveness **ret_liveness,
		       const struct stack_liveness_config *config,
		       const struct thread_registers *threads, size_t thread_count);
/* For scan_input.classify, with struct stack_liveness as ctx. Call it from the thread that uses the
 * parser. */
int stack_liveness_classify(void *ctx, const struct scan_memory *memory,
			    struct scan_reference *references, size_t count);
void stack_liveness_free(struct stack_liveness *liveness); /* NULL is fine */

#endif
