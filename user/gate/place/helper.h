/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a function in a process of its own, which finishes it even if the tracer is killed at any
 * moment: it is in its own session, blocks all signals, and the OOM killer spares it. It runs
 * before other processes. (Both are best effort: they need CAP_SYS_RESOURCE and CAP_SYS_NICE.) It
 * does not help if the helper itself is killed, for example with its whole cgroup (cgroup.kill).
 */
#ifndef MTRACE_GATE_PLACE_HELPER_H
#define MTRACE_GATE_PLACE_HELPER_H

#include <stddef.h>

/*
 * Calls run() in a copy of this process, and waits for it. run() writes `size` bytes to ret_reply;
 * at most PIPE_BUF (4096). It has no descriptors of ours. Returns 0, or -errno: -EIO if the helper
 * has died.
 */
int gate_helper_run(void (*run)(const void *context, void *ret_reply), const void *context,
		    void *ret_reply, size_t size);

#endif
