/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much memory a process has, and how much there is left. */
#ifndef MTRACE_OS_RESIDENT_H
#define MTRACE_OS_RESIDENT_H

#include <stdint.h>
#include <sys/types.h>

/* Of the process, shared pages that it has mapped included: 0 or -errno (-ESRCH). */
int resident_bytes(pid_t pid, uint64_t *ret_bytes);
/* What the machine can still give without swapping: 0 or -errno. */
int resident_available(uint64_t *ret_bytes);

#endif
