/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Determines what a process inside execve(2) is about to execute, and the variables that tell the
 * dynamic linker where to find libraries. Both are read from the arguments of the system call.
 * Another thread can change them before the kernel reads them, so the result is good for placing
 * probes early, but not for security decisions.
 */
#ifndef MTRACE_OS_EXEC_CALL_H
#define MTRACE_OS_EXEC_CALL_H

#include <limits.h>
#include <sys/types.h>

#include "os/library/needed.h"

#define EXEC_VARIABLES 2 /* LD_PRELOAD and LD_LIBRARY_PATH */

struct exec_call {
	char path[PATH_MAX];                   /* as passed to execve; "" if unknown */
	char *environment[EXEC_VARIABLES + 1]; /* NULL-terminated */
};

/* Returns 0 or -errno. Fails, for example, for a 32-bit process, because the kernel does not show
 * whether a system call is a 32-bit one. */
int exec_call_read(pid_t pid, struct exec_call *ret_call);
void exec_call_free(struct exec_call *call); /* an all-zero call is fine */

/*
 * Finds the files that the process will map (see needed_find), as paths that we can open while the
 * process waits. Remove `ret_prefix` from them to get the paths that the process itself would use;
 * it is "" if the process sees the same files as we do. Returns 0 or -errno.
 */
#define EXEC_PREFIX_SIZE 32
int exec_call_needed(pid_t pid, const struct exec_call *call,
		     const struct elf_dynamic_reader *reader, struct needed *ret_needed,
		     char ret_prefix[EXEC_PREFIX_SIZE]);

#endif
