/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SOURCE_PTRACE_REFUSAL_H
#define MTRACE_SOURCE_PTRACE_REFUSAL_H

#include <sys/types.h>

#include "base/error.h"

/* /proc/sys/kernel/yama/ptrace_scope; 0 without Yama. */
int yama_scope(void);

/* Explains in *err why a process cannot be traced. Returns `code`. */
int ptrace_refuse(pid_t pid, int code, struct error *err);

#endif
