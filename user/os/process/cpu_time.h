/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time that processes have used. */
#ifndef MTRACE_OS_PROCESS_CPU_TIME_H
#define MTRACE_OS_PROCESS_CPU_TIME_H

#include <stdint.h>
#include <sys/types.h>

/* Nanoseconds of all threads, including exited ones; 0 if the process has exited. */
uint64_t cpu_time_of(pid_t pid);
/* Nanoseconds of user and kernel time of everything on this machine, with the resolution of the
 * kernel's clock tick; 0 if unknown. */
uint64_t cpu_time_of_all(void);

#endif
