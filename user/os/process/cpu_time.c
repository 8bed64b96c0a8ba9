/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/process/cpu_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND 1000000000ULL

uint64_t cpu_time_of(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
		return 0;
	return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

uint64_t cpu_time_of_all(void)
{
	uint64_t user = 0, nice = 0, kernel = 0;
	FILE *file = fopen("/proc/stat", "re");

	if (!file)
		return 0;
	if (fscanf(file, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64, &user, &nice, &kernel) != 3)
		user = nice = kernel = 0;
	fclose(file);
	return (user + nice + kernel) * (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}
