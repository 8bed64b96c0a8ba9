/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time stamps. Reading the clock costs as much as the rest of a record. The kernel's tick counter
 * costs nothing, and a tick (1 to 10 ms) is precise enough for the age of a block. Ticks are
 * converted to CLOCK_MONOTONIC with a base that is updated every second, since the two drift. Time
 * stamps may go back by a tick; the reader of the ring buffer corrects that. The start and end of
 * an image have exact times.
 */
#ifndef MTRACE_BPF_CLOCK_BPF_H
#define MTRACE_BPF_CLOCK_BPF_H

#define TICKS_MAX_AGE_NS 1000000000ULL

static __u64 clock_base;  /* CLOCK_MONOTONIC at tick 0 */
static __u64 clock_taken; /* the tick at which the base was updated */

static __always_inline __u64 clock_now(void)
{
	__u64 tick_ns = config_tick_ns, tick;

	if (!tick_ns)
		return bpf_ktime_get_ns();
	tick = bpf_jiffies64();
	if ((tick - clock_taken) * tick_ns > TICKS_MAX_AGE_NS) {
		clock_base = bpf_ktime_get_ns() - tick * tick_ns;
		clock_taken = tick;
	}
	return clock_base + tick * tick_ns;
}

#endif
