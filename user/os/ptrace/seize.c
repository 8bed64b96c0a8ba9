/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/PID/task is listed until it has no new name. That alone would not be enough: the kernel
 * decides whether a new thread is traced when the parent enters clone(2), but lists the thread only
 * when the call is almost done (kernel/fork.c: kernel_clone, copy_process). If a thread is seized
 * while it is in clone(2), its child appears later and is not traced: it would hit breakpoints that
 * no tracer handles, and die from the first.
 *
 * So threads that may be in such a call are waited for. For a sleeping thread,
 * /proc/PID/task/TID/syscall shows the call, and usually it is another one. For a running thread it
 * does not, so the thread is interrupted: when it has stopped, the call is done.
 */
#include "os/ptrace/seize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "os/ptrace/tracee.h"

#define SETTLE_NS     (2 * 1000000000ULL)
#define POLL_FIRST_NS 20000
#define POLL_LAST_NS  1000000

static bool is_ours(pid_t pid, pid_t tid)
{
	return tracee_tracer(pid, tid) == (pid_t)syscall(SYS_gettid);
}

/* Returns 0 even if the thread has exited. A child of a known thread may already be traced. */
static int seize_thread(struct seizure *seizure, pid_t tid, uintptr_t options, struct error *err)
{
	struct seized_thread thread = {.tid = tid};

	if (vec_reserve(&seizure->threads, seizure->threads.count + 1))
		return error_set_errno(err, -ENOMEM, "cannot trace %d", (int)seizure->pid);
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)options)) {
		int code = -errno;

		thread.settled = is_ours(seizure->pid, tid);
		if (thread.settled && !seizure->threads.count)
			return error_set(err, -EALREADY, "%d is already traced", (int)seizure->pid);
		if (!thread.settled && (code == -ESRCH || tracee_is_dead(seizure->pid, tid)))
			return 0;
		if (!thread.settled)
			return tracee_refuse(seizure->pid, tid, code, err);
	}
	seizure->threads.items[seizure->threads.count] = thread;
	if (!map64_set(&seizure->known, (uint64_t)tid, (uint32_t)seizure->threads.count++))
		return 0;
	return error_set_errno(err, -ENOMEM, "cannot trace %d", (int)seizure->pid);
}

static int seize_new(struct seizure *seizure, uintptr_t options, struct error *err)
{
	struct proc_threads threads = {0};
	int code = proc_threads_read(seizure->pid, &threads);
	const pid_t *tid;

	if (code)
		error_set_errno(err, code, "cannot trace %d", (int)seizure->pid);
	vec_each (tid, &threads)
		if (!code && map64_get(&seizure->known, (uint64_t)*tid) == MAP64_NONE)
			code = seize_thread(seizure, *tid, options, err);
	vec_free(&threads);
	return code;
}

/* Returns true if the thread has stopped. */
static bool poll_stop(struct seized_thread *thread)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WNOHANG | __WALL | __WNOTHREAD) ||
	    !info.si_pid)
		return false;
	thread->stopped = thread->settled = true;
	thread->status = info.si_status;
	return true;
}

/* Waits until the thread has stopped or exited (its tracer will get the exit). Returns false on
 * timeout. */
static bool await_stop(pid_t pid, struct seized_thread *thread, uint64_t deadline_ns)
{
	struct timespec nap = {.tv_nsec = POLL_FIRST_NS};

	while (!poll_stop(thread) && !tracee_is_dead(pid, thread->tid)) {
		if (clock_now_ns() > deadline_ns)
			return false;
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < POLL_LAST_NS)
			nap.tv_nsec *= 2;
	}
	thread->settled = true;
	return true;
}

/* Interrupts all threads before it waits for the first. */
static int settle(struct seizure *seizure, uint64_t deadline_ns, struct error *err)
{
	struct seized_thread *thread;

	vec_each (thread, &seizure->threads) {
		if (thread->settled)
			continue;
		thread->settled = !tracee_may_fork(seizure->pid, thread->tid);
		if (!thread->settled)
			ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
	}
	vec_each (thread, &seizure->threads)
		if (!thread->settled && !await_stop(seizure->pid, thread, deadline_ns))
			return error_set(
				err, -ETIMEDOUT,
				"cannot trace thread %d of %d: it is in uninterruptible sleep",
				(int)thread->tid, (int)seizure->pid);
	return 0;
}

int seize(struct seizure *ret_seizure, pid_t pid, uintptr_t options, struct error *err)
{
	uint64_t deadline_ns = clock_now_ns() + SETTLE_NS;
	struct seizure seizure = {.pid = pid};
	size_t before;
	int code;

	do {
		before = seizure.threads.count;
		code = seize_new(&seizure, options, err);
		if (!code)
			code = settle(&seizure, deadline_ns, err);
	} while (!code && seizure.threads.count > before);
	if (!code && !seizure.threads.count)
		code = error_set_errno(err, -ESRCH, "cannot trace %d", (int)pid);
	if (code)
		seize_undo(&seizure);
	else
		*ret_seizure = seizure;
	return code;
}

/* Threads that do not stop in time are detached when the tracing thread exits. */
void seize_undo(struct seizure *seizure)
{
	uint64_t deadline_ns = clock_now_ns() + SETTLE_NS;
	struct seized_thread *thread;

	vec_each (thread, &seizure->threads)
		if (!thread->stopped)
			ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
	vec_each (thread, &seizure->threads) {
		int signal;

		if (!thread->stopped)
			(void)await_stop(seizure->pid, thread, deadline_ns);
		signal = TRACEE_EVENT(thread->status) ? 0 : TRACEE_SIGNAL(thread->status);
		if (thread->stopped)
			ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)signal);
	}
	seize_free(seizure);
}

void seize_free(struct seizure *seizure)
{
	vec_free(&seizure->threads);
	map64_free(&seizure->known);
}
