/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much time of processors a process has had. */
#ifndef MTRACE_OS_CPU_TIME_H
#define MTRACE_OS_CPU_TIME_H

#include <stdint.h>
#include <sys/types.h>

/* Of all its threads, also those that have ended, in nanoseconds; 0 if it is gone. */
uint64_t cpu_time_of(pid_t pid);

#endif
