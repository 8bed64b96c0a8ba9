/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks a process that the user named before anything is done to it. */
#ifndef MTRACE_APP_TRACE_TARGET_H
#define MTRACE_APP_TRACE_TARGET_H

#include <sys/types.h>

#include "base/error.h"

struct target {
	pid_t pid;
	char name[32]; /* safe to print */
};

/*
 * Returns 0, or -errno with the reason why the process cannot be traced: it does not exist, or it
 * is a thread of another process, a kernel thread, a zombie, or ourselves.
 */
int target_check(pid_t pid, struct target *ret_target, struct error *err);

/* The last component of the path, with control characters replaced. */
void target_name(const char *path, char ret_name[32]);

#endif
