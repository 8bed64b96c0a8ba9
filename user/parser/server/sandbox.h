/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes away from a process that reads untrusted files the ability to do anything else. There are
 * two steps, both irreversible, for the calling process and its children:
 *
 * sandbox_leave: becomes a user of its own instead of root, without capabilities and unable to gain
 * any by exec; new network, IPC and UTS namespaces; limited memory and descriptors; no file writes;
 * no core dumps; cannot be ptraced; first to be killed when memory is short. Without root, the
 * process keeps its user and its namespaces, which take privileges to change.
 *
 * sandbox_confine: no new processes, and only those system calls that are needed to read open files
 * and to answer on an open socket. The process can allocate memory, but cannot make it executable.
 * System calls that libraries may try in good faith (open, ioctl …) fail with EPERM. Those that
 * only an attacker would use (exec, fork, socket, ptrace, bpf …) kill the process.
 */
#ifndef MTRACE_PARSER_SERVER_SANDBOX_H
#define MTRACE_PARSER_SERVER_SANDBOX_H

#include "base/error.h"

/* Return 0, or -errno with a message in *err. */
int sandbox_leave(struct error *err);
int sandbox_confine(struct error *err);

#endif
