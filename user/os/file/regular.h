/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_OS_FILE_REGULAR_H
#define MTRACE_OS_FILE_REGULAR_H

#include <sys/stat.h>

/*
 * Opens a regular file for reading. It checks the type before it opens the file, because opening a
 * FIFO would block, and opening a device can have side effects. Files of /proc, /sys and other
 * kernel interfaces count as another type. Returns a descriptor or -errno; -EACCES for other types
 * of files, like execve. ret_stat may be NULL.
 */
int file_open_regular(const char *path, struct stat *ret_stat);

#endif
