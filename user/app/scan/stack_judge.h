/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which words on the stacks of stopped threads can the program still read? The rest are leftovers
 * of calls that have returned, and no references.
 *
 * Each thread's stack is unwound. A word belongs to the frame between whose stack pointer and CFA
 * it lies, and the code of that frame's function, from where the frame goes on, tells whether the
 * word is read before it is overwritten (symbol/liveness/liveness.h). The slot in which a function
 * saved a register of its caller is a reference if the caller reads that register, and so is the
 * register itself. Words and registers of analysed functions count as references if they are not
 * proven dead. About all others nothing is known (REFERENCE_UNKNOWN): words of frames that cannot
 * be unwound, of all frames above them, and registers that all known frames pass on to these.
 */
#ifndef MTRACE_APP_SCAN_STACK_JUDGE_H
#define MTRACE_APP_SCAN_STACK_JUDGE_H

#include <stddef.h>

#include "model/process/state.h"
#include "os/ptrace/tracee.h"
#include "parser/client/client.h"
#include "scan/scan_types.h"
#include "symbol/elf/module_table.h"

struct stack_judge;

/* What it asks. All must outlive it. */
struct stack_judge_config {
	const struct process *process; /* whose mappings say which code is where */
	struct module_table *modules;
	struct parser *parser;
	/* Those that are stacks are unwound; no frame reaches beyond its range. */
	const struct scan_range *ranges;
	size_t range_count;
};

/*
 * Takes what it needs of the registers. Returns 0, -ENOTSUP for threads of processors whose code is
 * not analysed, or -ENOMEM.
 */
int stack_judge_new(struct stack_judge **ret_judge, const struct stack_judge_config *config,
		    const struct thread_registers *threads, size_t thread_count);
/* As scan_input.judge, with the judge as ctx. Call it in the thread that uses the parser. */
int stack_judge_ask(void *ctx, const struct scan_memory *memory, struct scan_reference *references,
		    size_t count);
void stack_judge_free(struct stack_judge *judge); /* NULL is fine */

#endif
