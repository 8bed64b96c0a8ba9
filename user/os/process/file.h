/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_OS_PROCESS_FILE_H
#define MTRACE_OS_PROCESS_FILE_H

#include <sys/stat.h>

/*
 * Open a regular file for reading, and nothing else: opening a FIFO would block, and opening a
 * device may act on it, so it looks before it opens. Returns a descriptor or -errno, -EACCES for
 * other kinds of files, as execve has it. ret_stat may be NULL.
 */
int file_open_regular(const char *path, struct stat *ret_stat);

#endif
