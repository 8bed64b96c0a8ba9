/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PTRACE_SEIZE attaches without stopping, and PTRACE_INTERRUPT stops without a signal, so no trace
 * is left in the target (ptrace(2)). All threads are interrupted before the first is waited for;
 * otherwise, with a thousand threads, a thousand scheduling delays would add up.
 *
 * Running threads can create others. When all known threads have stopped, /proc/PID/task is listed
 * again: a list without a new name is final, because the threads that could add to it are stopped.
 *
 * A thread may stop in three ways: by our interrupt, in a group stop (somebody sent SIGSTOP), or
 * because a signal is about to be delivered. All three serve the purpose, but in the third case the
 * signal must be passed on when the thread is detached.
 *
 * PTRACE_DETACH needs a stopped thread. A thread that did not stop in time would stop later, and
 * forever if it were still traced. But when a tracing thread exits, the kernel detaches all its
 * tracees, stopped or not. So each freeze has its own tracing thread, which waits for the release.
 *
 * Exits: waitid without WEXITED sees only stops, so the exit status of a child of ours remains for
 * the code that launched it. A dead thread of another process must be reaped by its tracer, or the
 * process would never be seen to exit.
 */
#include "os/ptrace/freeze.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/map64.h"
#include "base/vec.h"
#include "os/process/proc.h"
#include "os/process/procfs.h"

#define STOP_TIMEOUT_NS (2 * 1000000000ULL)
#define POLL_FIRST_NS   20000
#define POLL_LAST_NS    1000000

enum thread_state { THREAD_SEIZED, THREAD_STOPPED, THREAD_GONE };

struct thread {
	enum thread_state state;
	int status; /* wait status of its stop (waitid) */
};

struct freeze {
	pid_t pid;
	bool child; /* the process is our child: its exit status is not ours to take */
	pthread_t tracer;
	sem_t ready;   /* posted by the tracing thread: it has stopped all threads, or run `run` */
	sem_t request; /* posted to the tracing thread: call `run`, or end if it is NULL */
	int (*run)(struct freeze *freeze, void *context);
	void *context;
	int code;          /* what was posted by `ready` */
	struct error *err; /* valid until `ready` is posted */
	struct map64 known;
	VEC(struct thread) threads;
	VEC(struct thread_registers) registers; /* one per thread; tid is always valid */
};

static int add_thread(struct freeze *freeze, pid_t tid)
{
	if (vec_push(&freeze->threads, (struct thread){.state = THREAD_SEIZED}) ||
	    vec_push(&freeze->registers, (struct thread_registers){.tid = tid}))
		return -ENOMEM;
	return map64_set(&freeze->known, (uint64_t)tid, (uint32_t)freeze->threads.count - 1);
}

/* Returns 0 even if the thread has exited. */
static int seize_thread(struct freeze *freeze, pid_t tid, struct error *err)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		int code = -errno;

		if (code == -ESRCH || tracee_is_dead(freeze->pid, tid))
			return 0;
		return tracee_refuse(freeze->pid, tid, code, err);
	}
	if (add_thread(freeze, tid)) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return error_set_errno(err, -ENOMEM, "cannot stop %d", (int)freeze->pid);
	}
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL); /* fails if it just exited: noticed later */
	return 0;
}

static int list_threads(const struct freeze *freeze, struct proc_threads *ret_threads,
			struct error *err)
{
	int code = proc_threads_read(freeze->pid, ret_threads);

	return code ? error_set_errno(err, code, "cannot stop %d", (int)freeze->pid) : 0;
}

/* Seizes all threads that are not known yet. *ret_new is true if there was one. */
static int seize_new(struct freeze *freeze, bool *ret_new, struct error *err)
{
	struct proc_threads threads;
	size_t before = freeze->threads.count;
	int code = list_threads(freeze, &threads, err);
	const pid_t *tid;

	if (code)
		return code;
	vec_each (tid, &threads)
		if (!code && map64_get(&freeze->known, (uint64_t)*tid) == MAP64_NONE)
			code = seize_thread(freeze, *tid, err);
	vec_free(&threads);
	*ret_new = freeze->threads.count > before;
	return code;
}

static void thread_died(struct freeze *freeze, size_t i)
{
	pid_t tid = freeze->registers.items[i].tid;
	siginfo_t info;

	freeze->threads.items[i].state = THREAD_GONE;
	if (tid != freeze->pid || !freeze->child)
		waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | __WALL);
}

/* Returns true if the thread has stopped or exited. */
static bool poll_thread(struct freeze *freeze, size_t i)
{
	pid_t tid = freeze->registers.items[i].tid;
	struct thread *thread = &freeze->threads.items[i];
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL) || !info.si_pid) {
		if (!tracee_is_dead(freeze->pid, tid))
			return false;
		thread_died(freeze, i);
		return true;
	}
	thread->state = THREAD_STOPPED;
	thread->status = info.si_status;
	return true;
}

static int wait_thread(struct freeze *freeze, size_t i, uint64_t deadline_ns, struct error *err)
{
	struct timespec pause = {.tv_nsec = POLL_FIRST_NS};

	while (!poll_thread(freeze, i)) {
		if (clock_now_ns() > deadline_ns)
			return error_set(
				err, -ETIMEDOUT,
				"cannot stop thread %d of %d: it is in uninterruptible sleep",
				(int)freeze->registers.items[i].tid, (int)freeze->pid);
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < POLL_LAST_NS)
			pause.tv_nsec *= 2;
	}
	return 0;
}

static void let_go(struct freeze *freeze, size_t i)
{
	struct thread *thread = &freeze->threads.items[i];
	int signal = TRACEE_EVENT(thread->status) ? 0 : thread->status;
	pid_t tid = freeze->registers.items[i].tid;

	if (thread->state == THREAD_GONE)
		return;
	if (ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal))
		thread_died(freeze, i);
	thread->state = THREAD_GONE;
}

static int new_freeze(struct freeze **ret_freeze, pid_t pid, struct error *err)
{
	struct proc_info info;
	int code = proc_info_read(pid, &info);

	if (code)
		return error_set_errno(err, code, "cannot stop %d", (int)pid);
	*ret_freeze = calloc(1, sizeof(**ret_freeze));
	if (*ret_freeze) {
		(*ret_freeze)->pid = pid;
		(*ret_freeze)->child = info.ppid == getpid();
		sem_init(&(*ret_freeze)->ready, 0, 0);
		sem_init(&(*ret_freeze)->request, 0, 0);
	}
	proc_info_free(&info);
	return *ret_freeze ? 0 : error_set_errno(err, -ENOMEM, "cannot stop %d", (int)pid);
}

/* Seizes new threads and waits for them, until there are no new ones. */
static int stop_all(struct freeze *freeze, struct error *err)
{
	uint64_t deadline_ns = clock_now_ns() + STOP_TIMEOUT_NS;
	size_t waited = 0;
	bool is_new;
	int code;

	do {
		code = seize_new(freeze, &is_new, err);
		while (!code && waited < freeze->threads.count)
			code = wait_thread(freeze, waited++, deadline_ns, err);
	} while (!code && is_new);
	return code;
}

static bool any_stopped(const struct freeze *freeze)
{
	const struct thread *thread;

	vec_each (thread, &freeze->threads)
		if (thread->state == THREAD_STOPPED)
			return true;
	return false;
}

static int stop_and_read(struct freeze *freeze, struct error *err)
{
	int code = stop_all(freeze, err);

	if (code)
		return code;
	if (!any_stopped(freeze))
		return error_set_errno(err, -ESRCH, "cannot stop %d", (int)freeze->pid);
	for (size_t i = 0; i < freeze->threads.count; i++)
		if (freeze->threads.items[i].state == THREAD_STOPPED)
			tracee_read_registers(&freeze->registers.items[i]);
	return 0;
}

/* Stops one thread only while its registers are read. */
static int sample_thread(struct freeze *freeze, pid_t tid, struct error *err)
{
	size_t i = freeze->threads.count;
	int code = seize_thread(freeze, tid, err);

	if (code || freeze->threads.count == i)
		return code;
	code = wait_thread(freeze, i, clock_now_ns() + STOP_TIMEOUT_NS, err);
	if (!code && freeze->threads.items[i].state == THREAD_STOPPED)
		tracee_read_registers(&freeze->registers.items[i]);
	let_go(freeze, i);
	return code;
}

static int sample_all(struct freeze *freeze, struct error *err)
{
	struct proc_threads threads;
	int code = list_threads(freeze, &threads, err);
	const pid_t *tid;

	if (code)
		return code;
	vec_each (tid, &threads)
		if (!code)
			code = sample_thread(freeze, *tid, err);
	vec_free(&threads);
	return code;
}

static void await_post(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		;
}

static void serve_requests(struct freeze *freeze)
{
	for (;;) {
		await_post(&freeze->request);
		if (!freeze->run)
			break;
		freeze->code = freeze->run(freeze, freeze->context);
		sem_post(&freeze->ready);
	}
}

static void *trace_stopped(void *argument)
{
	struct freeze *freeze = argument;
	int code = stop_and_read(freeze, freeze->err);

	freeze->code = code;
	sem_post(&freeze->ready);
	if (!code)
		serve_requests(freeze);
	for (size_t i = 0; i < freeze->threads.count; i++)
		let_go(freeze, i);
	return NULL;
}

static void *trace_sampled(void *argument)
{
	struct freeze *freeze = argument;

	freeze->code = sample_all(freeze, freeze->err);
	sem_post(&freeze->ready);
	return NULL;
}

static void free_freeze(struct freeze *freeze)
{
	struct thread_registers *registers;

	vec_each (registers, &freeze->registers)
		tracee_free_registers(registers);
	vec_free(&freeze->registers);
	vec_free(&freeze->threads);
	map64_free(&freeze->known);
	sem_destroy(&freeze->ready);
	sem_destroy(&freeze->request);
	free(freeze);
}

static int start(struct freeze **ret_freeze, pid_t pid, void *(*trace)(void *), struct error *err)
{
	struct freeze *freeze;
	int code = new_freeze(&freeze, pid, err);

	if (code)
		return code;
	freeze->err = err;
	code = -pthread_create(&freeze->tracer, NULL, trace, freeze);
	if (code) {
		free_freeze(freeze);
		return error_set_errno(err, code, "cannot stop %d", (int)pid);
	}
	await_post(&freeze->ready);
	code = freeze->code;
	if (code)
		freeze_release(freeze);
	else
		*ret_freeze = freeze;
	return code;
}

int freeze_stop(struct freeze **ret_freeze, pid_t pid, struct error *err)
{
	return start(ret_freeze, pid, trace_stopped, err);
}

int freeze_sample(struct freeze **ret_freeze, pid_t pid, struct error *err)
{
	return start(ret_freeze, pid, trace_sampled, err);
}

const struct thread_registers *freeze_threads(const struct freeze *freeze, size_t *ret_count)
{
	*ret_count = freeze->registers.count;
	return freeze->registers.items;
}

int freeze_run(struct freeze *freeze, int (*run)(struct freeze *freeze, void *context),
	       void *context)
{
	freeze->run = run;
	freeze->context = context;
	sem_post(&freeze->request);
	await_post(&freeze->ready);
	return freeze->code;
}

int *freeze_status(struct freeze *freeze, size_t i)
{
	struct thread *thread = &freeze->threads.items[i];

	return thread->state == THREAD_STOPPED ? &thread->status : NULL;
}

void freeze_release(struct freeze *freeze)
{
	if (!freeze)
		return;
	freeze->run = NULL;
	sem_post(&freeze->request);
	pthread_join(freeze->tracer, NULL);
	free_freeze(freeze);
}
