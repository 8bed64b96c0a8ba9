/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stopping every thread of a process for a moment, by ptrace without signals, and its registers.
 *
 * What the process can notice: time passes; and some system calls that a thread was sleeping in
 * return EINTR although no signal came: epoll_wait, io_getevents, semtimedop, sigtimedwait, read of
 * an inotify descriptor, sockets with a timeout, futex waits of old kernels (signal(7),
 * "Interruption of system calls and library functions by stop signals"). All others are restarted
 * by the kernel. Signals that arrive meanwhile are delivered afterwards. A process that is stopped
 * by SIGSTOP stays so. If we die, by whatever signal, the kernel lets the process run on.
 *
 * A thread has one tracer: a process under gdb or strace cannot be frozen (-EPERM, with words).
 * A struct freeze has a thread of its own that does the tracing, so any thread may call.
 */
#ifndef MTRACE_OS_PTRACE_FREEZE_H
#define MTRACE_OS_PTRACE_FREEZE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "os/ptrace/tracee.h"

struct freeze;

/*
 * Stop all threads, those that are born meanwhile included. 0; -ESRCH; -EPERM; -ETIMEDOUT if a
 * thread does not stop (it waits for a disk that does not answer, or for its vfork child): then the
 * others run again.
 */
int freeze_stop(struct freeze **ret_freeze, pid_t pid, struct error *err);
/* Valid until freeze_release. */
const struct thread_registers *freeze_threads(const struct freeze *freeze, size_t *ret_count);
/* Let go, and free. NULL is fine. */
void freeze_release(struct freeze *freeze);

/*
 * For a process that shall go on: stop each thread in turn, read its registers, let it go. The
 * result is only good for freeze_threads and freeze_release.
 */
int freeze_sample(struct freeze **ret_freeze, pid_t pid, struct error *err);

#endif
