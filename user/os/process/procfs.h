/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below /proc/PID, for the rest of this layer. A process that is gone is -ESRCH, always. */
#ifndef MTRACE_OS_PROCESS_PROCFS_H
#define MTRACE_OS_PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PROCFS_PATH_SIZE 128

/* "/proc/PID/name" */
void procfs_path(char path[PROCFS_PATH_SIZE], pid_t pid, const char *name);
/* A read-only descriptor, or -errno. */
int procfs_open(pid_t pid, const char *name);
/* The whole file, with a NUL behind it; the caller frees. 0 or -errno. */
int procfs_read(pid_t pid, const char *name, char **ret_text, size_t *ret_size);
/* Where a symbolic link leads, as the kernel prints it; the caller frees. 0 or -errno. */
int procfs_read_link(pid_t pid, const char *name, char **ret_target);

/* Cut " (deleted)" off the end; was it there? */
bool procfs_cut_deleted(char *path);

#endif
