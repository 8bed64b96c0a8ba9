/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the process that reads hostile files loses the power to do anything else. In two steps, both
 * without way back, for the calling process and its children:
 *
 * sandbox_leave: nobody instead of root, no capability and none to be gained by exec, a network,
 * IPC and UTS namespace of its own, memory and descriptors limited, no file written, no core, not
 * to be traced, first to go when memory is short. Without root it keeps its user, and what needs
 * privileges to be given up (the namespaces) stays.
 *
 * sandbox_confine: no more processes, and of the system calls those only that reading open files
 * and answering on an open socket takes. Memory can be had, but none to execute. What libraries
 * may try in good faith (open, ioctl …) fails with EPERM. What only an intruder would ask for
 * (exec, fork, socket, ptrace, bpf …) kills the process.
 */
#ifndef MTRACE_PARSER_SERVER_SANDBOX_H
#define MTRACE_PARSER_SERVER_SANDBOX_H

#include "base/error.h"

/* 0 or -errno with words. */
int sandbox_leave(struct error *err);
int sandbox_confine(struct error *err);

#endif
