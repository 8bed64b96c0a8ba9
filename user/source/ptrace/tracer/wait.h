/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_WAIT_H
#define MTRACE_SOURCE_PTRACE_TRACER_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How stops are waited for: does it pay to look for the next one before we sleep? */
struct stop_wait {
	bool alone;      /* on the only processor there is for us: it does not */
	uint32_t trust;  /* how often it has paid lately; 0: not */
	uint32_t pause;  /* so many stops without, once it does not … */
	uint32_t paused; /* … of which there were so many */
	uint32_t looks;  /* that have paid */
	long displaced;  /* how often somebody else took our processor before it was judged last */
};

/* Of a process that may still run where it was started. */
void stop_wait_begin(struct stop_wait *wait);

/* waitpid for whatever thread, until a signal interrupts it: its result, with its errno. */
pid_t stop_await(struct stop_wait *wait, int *ret_status);

#endif
