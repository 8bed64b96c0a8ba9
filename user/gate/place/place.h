/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places gates in a running process and removes them: jumps over the first bytes of functions, to
 * code that is mapped near them. Only for 64-bit processes on x86-64. What the code does is up to
 * the caller; arch/gate.h says where a jump can be, and makes the copies of what it displaces.
 *
 * The code of the process is changed while all its threads are stopped (os/ptrace/freeze.h says
 * what the process can notice), and only if no thread is inside the bytes that change. A helper
 * process does it (gate/helper.h): it finishes, or undoes what it has done, even if the tracer is
 * killed meanwhile. So after a kill either all gates are in place or none.
 *
 * Not seen are: a process that shares the memory without being a thread (CLONE_VM without
 * CLONE_THREAD, except the child of vfork, during which a process cannot be stopped), and code
 * pointers that a program keeps elsewhere than on the stacks of its threads, such as the stacks of
 * coroutines that a signal handler has switched.
 */
#ifndef MTRACE_GATE_PLACE_PLACE_H
#define MTRACE_GATE_PLACE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "gate/place/image.h"
#include "gate/place/patch.h"

struct gate_stop {
	uint64_t stopped_ns; /* how long the process was stopped, all tries together */
	uint32_t tries;      /* how often */
};

/*
 * Maps the image and the pages with the jumps, in one stop. If a thread is inside the bytes that
 * change, tries again, up to 50 times in about a second. Waits for the helper. On failure, the
 * process is as before.
 *
 * Returns 0, or -errno with a message of one line: -EBUSY if other bytes are there, for example
 * another tool's breakpoint; -EAGAIN if a thread stays inside; -EEXIST if the address is not free;
 * -EPERM if the process is traced, or a seccomp filter restricts it; -EOPNOTSUPP if it is a 32-bit
 * process, or has a thread without a thread pointer; -ESRCH if it has exited; -ETIMEDOUT if it
 * cannot be stopped; -EIO if the helper was killed; or what a system call in the process returned.
 */
int gate_place(pid_t pid, const struct gate_image *image, const struct gate_patch *patches,
	       size_t count, struct gate_stop *ret_stop, struct error *err);

/*
 * Moves the program's own code back, and unmaps the image as soon as no thread is in its code or
 * will return to it. If that does not happen in 50 tries, the image stays mapped and *ret_left is
 * true; also on failure.
 *
 * Returns 0 or -errno, with a message. It is no error if the process has exited or has executed
 * another program.
 */
int gate_remove(pid_t pid, const struct gate_image *image, bool *ret_left,
		struct gate_stop *ret_stop, struct error *err);

#endif
