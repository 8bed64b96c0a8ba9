/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/cpu_time.h"

#include <time.h>

#define NS_PER_SECOND 1000000000ULL

uint64_t cpu_time_of(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
		return 0;
	return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}
