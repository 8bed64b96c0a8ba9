// SPDX-License-Identifier: GPL-2.0-or-later
/* For builds without code analysis: nothing is known about words on stacks. */
#include "app/scan/stack_liveness.h"

#include <errno.h>

int stack_liveness_new(struct stack_liveness **ret_liveness,
		       const struct stack_liveness_config *config,
		       const struct thread_registers *threads, size_t thread_count)
{
	(void)ret_liveness;
	(void)config;
	(void)threads;
	(void)thread_count;
	return -ENOTSUP;
}

void stack_liveness_free(struct stack_liveness *liveness)
{
	(void)liveness;
}

int stack_liveness_classify(void *ctx, const struct scan_memory *memory,
			    struct scan_reference *references, size_t count)
{
	(void)ctx;
	(void)memory;
	(void)references;
	(void)count;
	return 0;
}
