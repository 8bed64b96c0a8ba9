/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a long series of cases a test runs.
 *
 * The plain build runs every case. Sanitizers make each case several times as expensive, and a
 * fraction of the cases reaches the same code: a sanitized build runs every Nth case, the same ones
 * in every run. EXHAUSTIVE=1 in the environment makes it run every case.
 */
#ifndef MTRACE_TESTS_SWEEP_H
#define MTRACE_TESTS_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static inline bool sweep_is_exhaustive(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	const char *value = getenv("EXHAUSTIVE");

	return value && *value && strcmp(value, "0");
#else
	return true;
#endif
}

/* Returns `every` if only every Nth case is to run, 1 if all are. */
static inline size_t sweep_step(size_t every)
{
	return sweep_is_exhaustive() ? 1 : every;
}

/* Returns true for every Nth call, starting with the first. `*count` must start at 0. */
static inline bool sweep_takes(size_t *count, size_t every)
{
	return (*count)++ % sweep_step(every) == 0;
}

#endif
