/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files in /proc/PID, for the rest of this layer. The error is always -ESRCH if the process has
 * exited. */
#ifndef MTRACE_OS_PROCESS_PROCFS_H
#define MTRACE_OS_PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PROCFS_PATH_SIZE 128

/* "/proc/PID/name" */
void procfs_path(char path[PROCFS_PATH_SIZE], pid_t pid, const char *name);
/* Returns a read-only descriptor or -errno. */
int procfs_open(pid_t pid, const char *name);
/* Reads the whole file and appends a NUL. The caller frees the text. Returns 0 or -errno. */
int procfs_read(pid_t pid, const char *name, char **ret_text, size_t *ret_size);
/* Reads a symbolic link as the kernel prints it. The caller frees the target. Returns 0 or
 * -errno. */
int procfs_read_link(pid_t pid, const char *name, char **ret_target);

/* Removes a trailing " (deleted)". Returns true if there was one. */
bool procfs_cut_deleted(char *path);

#endif
