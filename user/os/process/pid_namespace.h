/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_OS_PROCESS_PID_NAMESPACE_H
#define MTRACE_OS_PROCESS_PID_NAMESPACE_H

#include <stdint.h>

#include "base/error.h"

/*
 * The pid namespace in which we live, by its inode; 0 for the first one, whose numbers the kernel
 * uses itself. Its numbers must be those of /proc: -ENOENT if there is none, -EXDEV if it shows
 * another namespace, with words.
 */
int pid_namespace_find(uint32_t *ret_inode, struct error *err);

#endif
