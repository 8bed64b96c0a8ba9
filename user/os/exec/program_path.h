/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_OS_EXEC_PROGRAM_PATH_H
#define MTRACE_OS_EXEC_PROGRAM_PATH_H

/*
 * Finds the file that execvp(3) would execute for `name` in the given directory (NULL: the current
 * one); a name without a slash is searched for on PATH. The result is the path that execvp passes
 * to execve, so it is relative to the directory if the name or PATH is. The caller frees it.
 * Returns 0, -ENOENT, -EACCES (found, but not executable) or -errno.
 */
int program_find(const char *name, const char *directory, char **ret_path);
/* Makes such a path absolute. The caller frees it. Returns 0 or -errno. */
int program_absolute(const char *path, const char *directory, char **ret_path);

#endif
