/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SOURCE_PTRACE_REFUSAL_H
#define MTRACE_SOURCE_PTRACE_REFUSAL_H

#include <sys/types.h>

#include "base/error.h"

/* /proc/sys/kernel/yama/ptrace_scope; 0 where there is no Yama. */
int yama_scope(void);

/* Why a process cannot be traced, in words; returns the code that the kernel gave. */
int ptrace_refuse(pid_t pid, int code, struct error *err);

#endif
