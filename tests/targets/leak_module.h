/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the leaking modules of servers share. Each leaks LEAK bytes, at a line of its own. */
#ifndef MTRACE_TESTS_LEAK_MODULE_H
#define MTRACE_TESTS_LEAK_MODULE_H

#include <stdlib.h>

#define LEAK     200
#define SCRATCH  16
#define EXPORTED __attribute__((visibility("default")))
#define NOINLINE __attribute__((noinline, noclone))

/* Work that keeps nothing. */
NOINLINE static void use_scratch(void)
{
	void *volatile scratch[SCRATCH];

	for (int i = 0; i < SCRATCH; i++)
		scratch[i] = malloc(64 * (size_t)(i + 1));
	for (int i = 0; i < SCRATCH; i++)
		free(scratch[i]);
}

#endif
