/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Briefly stops all threads of a process and reads their registers, using ptrace without signals.
 *
 * What the process can notice: time passes, and some system calls in which a thread was sleeping
 * return EINTR although there was no signal: epoll_wait, io_getevents, semtimedop, sigtimedwait,
 * read of an inotify descriptor, sockets with a timeout, futex waits of old kernels (signal(7),
 * "Interruption of system calls and library functions by stop signals"). The kernel restarts all
 * others. A write() that is blocked on a full pipe or socket after writing some bytes returns their
 * number, as it does when SIGSTOP stops the process (pipe_write() in fs/pipe.c). Signals
 * that arrive in the meantime are delivered afterwards. A process that is stopped by SIGSTOP stays
 * stopped. If we are killed, by whatever signal, the kernel continues the process.
 *
 * A thread can have only one tracer, so a process under gdb or strace cannot be frozen (-EPERM,
 * with a message). Each struct freeze has its own tracing thread, so these functions can be called
 * from any thread.
 */
#ifndef MTRACE_OS_PTRACE_FREEZE_H
#define MTRACE_OS_PTRACE_FREEZE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "os/ptrace/tracee.h"

struct freeze;

/*
 * Stops all threads, including those created in the meantime. Returns 0; -ESRCH; -EPERM; -ETIMEDOUT
 * if a thread does not stop (it waits for a disk that does not respond, or for its vfork child). On
 * failure, all threads run again. *err gets a message.
 */
int freeze_stop(struct freeze **ret_freeze, pid_t pid, struct error *err);
/* The registers of all threads. Valid until freeze_release. */
const struct thread_registers *freeze_threads(const struct freeze *freeze, size_t *ret_count);

/*
 * Calls run() on the thread that traces the process, the only one that can use ptrace on it, and
 * waits for it. Returns what run() returns.
 */
int freeze_run(struct freeze *freeze, int (*run)(struct freeze *freeze, void *context),
	       void *context);
/*
 * For run(): the status of the stop of a thread (the index is that in freeze_threads), as returned
 * by waitid. It decides how the thread continues: code that continues and stops it again updates it
 * (remote_call.h does). NULL if the thread has exited. Valid until freeze_release.
 */
int *freeze_status(struct freeze *freeze, size_t i);

/* Continues the process and frees the freeze. NULL is fine. */
void freeze_release(struct freeze *freeze);

/*
 * For a process that should keep running: stops each thread in turn, reads its registers and
 * continues it. Use the result only for freeze_threads and freeze_release.
 */
int freeze_sample(struct freeze **ret_freeze, pid_t pid, struct error *err);

#endif
