/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much time of processors a process has had. */
#ifndef MTRACE_OS_PROCESS_CPU_TIME_H
#define MTRACE_OS_PROCESS_CPU_TIME_H

#include <stdint.h>
#include <sys/types.h>

/* Of all its threads, also those that have ended, in nanoseconds; 0 if it is gone. */
uint64_t cpu_time_of(pid_t pid);
/* Of all that runs on this machine, in the kernel too, as fine as the kernel's clock tick; 0 if it
 * is not known. */
uint64_t cpu_time_of_all(void);

#endif
