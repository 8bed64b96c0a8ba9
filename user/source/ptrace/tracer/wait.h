/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_WAIT_H
#define MTRACE_SOURCE_PTRACE_TRACER_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Adaptive waiting for stops: whether polling for the next one before sleeping pays off. */
struct stop_wait {
	bool alone;      /* there is only one CPU for us: never poll */
	uint32_t trust;  /* how often polling has recently paid off */
	uint32_t pause;  /* stops without polling after it did not pay off … */
	uint32_t paused; /* … and how many of these have passed */
	uint32_t polls;  /* successful polls */
	long displaced;  /* involuntary context switches at the last evaluation */
};

/* For a process that may still run on the CPU where it was started. */
void stop_wait_begin(struct stop_wait *wait);

/* waitpid for any thread, until a signal interrupts it. Returns its result, with errno set. */
pid_t stop_await(struct stop_wait *wait, int *ret_status);

#endif
