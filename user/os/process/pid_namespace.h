/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_OS_PROCESS_PID_NAMESPACE_H
#define MTRACE_OS_PROCESS_PID_NAMESPACE_H

#include <stdint.h>

#include "base/error.h"

/*
 * Finds the inode of our pid namespace; 0 for the initial one, whose pids the kernel uses itself.
 * /proc must show the same namespace: returns -ENOENT if there is no /proc and -EXDEV if it shows
 * another namespace, with a message in *err.
 */
int pid_namespace_find(uint32_t *ret_inode, struct error *err);

#endif
