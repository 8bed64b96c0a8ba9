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

/* A file that a process will map. */
struct exec_file {
	int fd;
	char *path; /* as the process sees it */
};

struct exec_files {
	struct exec_file *items;
	size_t count;
};

/*
 * Opens the files that the process will map (see needed_find), at most EXEC_FILES_MAX. Paths are
 * resolved in its root, current directory and mount namespace, and with its rights: the process
 * chooses them. Leaves out what it cannot read. The caller frees the files. Returns 0 or -errno.
 */
#define EXEC_FILES_MAX 256
int exec_call_open_files(pid_t pid, const struct exec_call *call,
			 const struct elf_dynamic_reader *reader, struct exec_files *ret_files);
void exec_files_free(struct exec_files *files); /* closes those whose fd is not -1 */

#endif
