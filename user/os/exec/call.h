/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process that is in the midst of execve(2) is about to run, and with what the dynamic
 * linker will find libraries for it: read from the arguments of its system call. It may be told
 * another truth than the kernel, if another of its threads changes them meanwhile: good for placing
 * probes in time, not for deciding.
 */
#ifndef MTRACE_OS_EXEC_CALL_H
#define MTRACE_OS_EXEC_CALL_H

#include <limits.h>
#include <sys/types.h>

#include "os/library/needed.h"

#define EXEC_VARIABLES 2 /* LD_PRELOAD and LD_LIBRARY_PATH */

struct exec_call {
	char path[PATH_MAX];                   /* as it was given; "" if that cannot be told */
	char *environment[EXEC_VARIABLES + 1]; /* NULL-terminated */
};

/* 0 or -errno: a 32-bit process, for one, whose system calls the kernel does not tell apart. */
int exec_call_read(pid_t pid, struct exec_call *ret_call);
void exec_call_free(struct exec_call *call); /* zeroed memory is fine */

/*
 * The files that it will map (needed_find), by paths that we can open as long as the process waits;
 * `*ret_prefix` is what has to be cut off them for what the process itself would call them: ""
 * where we see the same files as it does. 0 or -errno.
 */
#define EXEC_PREFIX_SIZE 32
int exec_call_needed(pid_t pid, const struct exec_call *call,
		     const struct elf_dynamic_reader *reader, struct needed *ret_needed,
		     char ret_prefix[EXEC_PREFIX_SIZE]);

#endif
