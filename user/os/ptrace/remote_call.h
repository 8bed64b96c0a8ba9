/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs system calls in a thread of another process. Only for 64-bit threads on x86-64.
 *
 * The thread is in a ptrace stop; the others may run or be stopped too (freeze_run() in freeze.h
 * stops all of them). Nothing in the process changes except what the system call itself does: no
 * code is written, no stack is touched, registers and signal mask are restored. A system call that
 * the stop has interrupted restarts as it does after any ptrace stop. Signals that arrive in the
 * meantime stay pending and are delivered afterwards, once and in order.
 *
 * What the process can notice:
 * - What it can notice of every stop (freeze.h). But epoll_wait, epoll_pwait and epoll_pwait2
 *   without a timeout restart here, rather than return EINTR.
 * - A restartable sequence in which the thread was stopped is aborted. The kernel does the same
 *   when it continues a stopped thread.
 * - A thread that was stopped for the delivery of a signal enters the handler (or dies) first.
 *
 * What these functions do not do:
 * - They do not wait with a timeout. The calls must be ones that do not sleep. Calls that the
 *   kernel resumes by restart_syscall(2) (nanosleep, poll, futex with a timeout) must not be made:
 *   they would replace the state of the interrupted call.
 * - They create no threads or processes, and no signal frames: no clone, fork, execve, sigreturn,
 *   exit.
 *
 * If the tracer dies, the kernel detaches and the thread continues with the registers that it has:
 * - Before the signals are blocked and after the mask is restored, nothing happens to the process.
 * - Between blocking the signals and changing the registers, and between restoring the two, the
 *   thread continues correctly, but its signals stay blocked. Each window is one ptrace call long.
 * - In between (35 microseconds or more), the thread makes the system call, if it has not yet,
 *   and then executes what follows the syscall instruction. remote_find_syscall() prefers an
 *   instruction that is followed by a trap, like the one in glibc's _exit(): the process then dies
 *   at once, from SIGSEGV or SIGTRAP, instead of going on in the wrong place.
 * A process that must survive this is traced by a process that does nothing else, ignores signals
 * and is exempt from the OOM killer. A guardian that waits for the death of the tracer is too late:
 * the kernel detaches and continues the thread first.
 *
 * All functions must be called by the thread that traces. They return 0 or -errno: -ESRCH if the
 * thread has died or is being killed; then only its exit remains to be waited for.
 */
#ifndef MTRACE_OS_PTRACE_REMOTE_CALL_H
#define MTRACE_OS_PTRACE_REMOTE_CALL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct remote_thread {
	pid_t pid;
	pid_t tid;
	int *status;      /* of the stop that the thread is in, as returned by waitid; not owned */
	uint64_t syscall; /* address of a syscall instruction */
};

/*
 * Finds a syscall instruction in the executable memory of the process. Needs no stop, so call it
 * before. Reads at most 64 MiB. Returns -ENOENT if there is none, -EOPNOTSUPP on other
 * architectures.
 */
int remote_find_syscall(pid_t pid, uint64_t *ret_address);

/*
 * Prepares calls in a stopped thread. *status is the status of its stop: PTRACE_EVENT_STOP, or one
 * for the delivery of a signal. It is updated by every call, for example if the process is stopped
 * by job control meanwhile: use it to continue the thread. `syscall` is the address that
 * remote_find_syscall() has returned. The thread is not modified, and there is nothing to free.
 *
 * Returns 0, or -errno with a message in *err: -EPERM if a seccomp filter or syscall user dispatch
 * could kill the thread; -EOPNOTSUPP if it executes 32-bit code, or if the kernel does not tell
 * about restartable sequences (before 5.13); -ENOEXEC if there is no instruction at `syscall`;
 * -EINVAL in another kind of stop.
 */
int remote_thread_open(struct remote_thread *ret_remote, pid_t pid, pid_t tid, int *status,
		       uint64_t syscall, struct error *err);

/*
 * Runs one system call. On success, *ret_result is what it returned: a value or -errno. (A call
 * that was interrupted before it did anything returns -EINTR.) A failure (-ESRCH, -EIO) means that
 * it is unknown whether the call was made; except after -ESRCH, the thread is as before.
 */
int remote_call(struct remote_thread *remote, long number, const uint64_t arguments[6],
		int64_t *ret_result);

/* Arguments of mmap(2) in the process: the descriptor is one of the process, or -1. */
struct remote_mapping {
	uint64_t address; /* where it should be, or 0 */
	uint64_t size;    /* bytes */
	int protection;   /* PROT_… */
	int flags;        /* MAP_… */
	int file;
	uint64_t offset; /* bytes, a multiple of the page size */
};

/* Return 0, or the -errno of the system call or of remote_call(). Sizes are in bytes. */
int remote_mmap(struct remote_thread *remote, const struct remote_mapping *mapping,
		uint64_t *ret_address);
int remote_munmap(struct remote_thread *remote, uint64_t address, uint64_t size);
int remote_mprotect(struct remote_thread *remote, uint64_t address, uint64_t size, int protection);

#endif
