// SPDX-License-Identifier: GPL-2.0-or-later
/* For builds without code analysis: nothing is known about words on stacks. */
#include "app/scan/stack_judge.h"

#include <errno.h>

int stack_judge_new(struct stack_judge **ret_judge, const struct stack_judge_config *config,
		    const struct thread_registers *threads, size_t thread_count)
{
	(void)ret_judge;
	(void)config;
	(void)threads;
	(void)thread_count;
	return -ENOTSUP;
}

void stack_judge_free(struct stack_judge *judge)
{
	(void)judge;
}

int stack_judge_ask(void *ctx, const struct scan_memory *memory, struct scan_reference *references,
		    size_t count)
{
	(void)ctx;
	(void)memory;
	(void)references;
	(void)count;
	return 0;
}
