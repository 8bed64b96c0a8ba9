/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tracing costs according to the first measurement after the start, in words. Every number is
 * measured, or computed from measured ones.
 *
 * Shares are of the CPU time that the measured calls took, tracing included. With less tracing the
 * same calls take less CPU time in all, so the share that remains with sampling is relative to that
 * lower sum.
 */
#ifndef MTRACE_APP_SESSION_START_COST_H
#define MTRACE_APP_SESSION_START_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "source/source.h"

#define START_COST_SIZE 320

struct start_cost {
	double all;     /* share of the CPU time … */
	double sampled; /* … and the least that sampling can reduce it to */
	double calls_per_s;
	bool of_all;   /* relative to the CPU time of all processes */
	bool samples;  /* sampling already: --sample or --max-overhead */
	bool complete; /* cannot sample: --sanity */
};

/* Needs a window with CPU time. Sets the numbers and of_all. */
struct start_cost start_cost_of(const struct source_cost *window);
/* Returns true if users should know about it without asking. */
bool start_cost_is_high(const struct start_cost *cost);
/*
 * "tracing takes 43% of the traced processes' CPU time at 2.1 million calls/s; …", with what can be
 * done about a high cost. Returns `text`.
 */
const char *start_cost_text(const struct start_cost *cost, char text[START_COST_SIZE]);

#endif
