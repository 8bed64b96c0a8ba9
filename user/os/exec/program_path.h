/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_OS_EXEC_PROGRAM_PATH_H
#define MTRACE_OS_EXEC_PROGRAM_PATH_H

/*
 * The file that execvp(3) would execute for the name, in the given directory (NULL: the current
 * one): a name without a slash is looked for on PATH. The result is as execvp hands it to execve,
 * and so relative to the directory if the name or PATH is; the caller frees it.
 * 0, -ENOENT, -EACCES (found, but not to be executed) or -errno.
 */
int program_find(const char *name, const char *directory, char **ret_path);
/* The same path, absolute; the caller frees. 0 or -errno. */
int program_absolute(const char *path, const char *directory, char **ret_path);

#endif
