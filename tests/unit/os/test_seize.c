// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * After seizing a process, all its threads are traced, including those that it creates at the same
 * time.
 *
 * Sanitizers make fork() expensive: under them the test starts a fifth as many processes.
 * EXHAUSTIVE=1 starts all of them (see sweep.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "os/ptrace/seize.h"
#include "os/ptrace/tracee.h"
#include "tests/unit/sweep.h"

#define PROCESSES 150
#define PARENTS   2
#define CHILDREN  16 /* of each, at once, to limit memory */
#define LOOKS     20
#define THREADED  ((uintptr_t)PTRACE_O_TRACECLONE)

static void *live_shortly(void *unused)
{
	usleep(200);
	return unused;
}

static void *start_threads(void *unused)
{
	pthread_t children[CHILDREN];

	for (;;) {
		size_t born = 0;

		while (born < CHILDREN &&
		       !pthread_create(&children[born], NULL, live_shortly, NULL))
			born++;
		while (born)
			pthread_join(children[--born], NULL);
	}
	return unused;
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static pid_t start(void *(*run)(void *))
{
	pid_t parent = getpid(), pid = fork();
	pthread_t thread;

	assert_true(pid >= 0);
	if (pid) {
		usleep(2000);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (int i = 1; i < PARENTS; i++)
		(void)pthread_create(&thread, NULL, run, NULL);
	run(NULL);
	_exit(1);
}

/* Kills the process. It is gone once its tracer has seen the exits of all its threads. */
static int end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	while (waitpid(-1, &status, __WALL) != pid || WIFSTOPPED(status))
		;
	return status;
}

/* The number of threads that are not traced. */
static int strangers(pid_t pid)
{
	struct proc_threads threads;
	const pid_t *tid;
	int count = 0;

	if (proc_threads_read(pid, &threads))
		return 0;
	vec_each (tid, &threads)
		count += !tracee_tracer(pid, *tid) && !tracee_is_dead(pid, *tid);
	vec_free(&threads);
	return count;
}

static void test_new_threads_are_traced(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROCESSES; i += sweep_step(5)) {
		pid_t pid = start(start_threads);
		struct seizure seizure;
		struct error err;

		assert_int_equal(seize(&seizure, pid, THREADED, &err), 0);
		for (int j = 0; j < LOOKS; j++)
			assert_int_equal(strangers(pid), 0);
		end(pid);
		seize_free(&seizure);
	}
}

static size_t count_pausing(pid_t pid)
{
	struct proc_threads threads;
	const pid_t *tid;
	size_t count = 0;

	if (proc_threads_read(pid, &threads))
		return 0;
	vec_each (tid, &threads)
		count += tracee_call(pid, *tid) == SYS_pause;
	vec_free(&threads);
	return count;
}

static void await_sleep(pid_t pid)
{
	while (count_pausing(pid) < PARENTS)
		;
}

/* Threads that sleep in other system calls are not interrupted. */
static void test_sleeping_threads_are_not_interrupted(void **state)
{
	pid_t pid = start(wait_for_ever);
	const struct seized_thread *thread;
	struct seizure seizure, again;
	struct error err;

	(void)state;
	await_sleep(pid);
	assert_int_equal(seize(&seizure, pid, THREADED, &err), 0);
	assert_int_equal(seizure.threads.count, PARENTS);
	vec_each (thread, &seizure.threads)
		assert_false(thread->stopped);
	assert_int_equal(seize(&again, pid, THREADED, &err), -EALREADY);
	seize_undo(&seizure);
	assert_int_equal(tracee_tracer(pid, pid), 0);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(WTERMSIG(end(pid)), SIGKILL);
}

/* A process in vfork waits for its child, which does not exec. Its threads cannot be stopped, so
 * the seizure is not known to be complete. */
static void test_parent_in_vfork_times_out(void **state)
{
	pid_t parent = getpid(), pid = fork();
	struct seizure seizure;
	struct error err;

	(void)state;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent && !vfork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		_exit(1);
	}
	while (tracee_call(pid, pid) != SYS_vfork)
		;
	assert_int_equal(seize(&seizure, pid, THREADED, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.text, "is in uninterruptible sleep"));
	end(pid);
}

static void test_undo_while_running(void **state)
{
	pid_t pid = start(start_threads);
	struct seizure seizure;
	struct error err;

	(void)state;
	assert_int_equal(seize(&seizure, pid, 0, &err), 0);
	seize_undo(&seizure);
	assert_int_equal(tracee_tracer(pid, pid), 0);
	assert_int_equal(WTERMSIG(end(pid)), SIGKILL);
}

static void test_gone_process_is_refused(void **state)
{
	pid_t pid = start(wait_for_ever);
	struct seizure seizure;
	struct error err;

	(void)state;
	end(pid);
	assert_int_equal(seize(&seizure, pid, THREADED, &err), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_threads_are_traced),
		cmocka_unit_test(test_sleeping_threads_are_not_interrupted),
		cmocka_unit_test(test_parent_in_vfork_times_out),
		cmocka_unit_test(test_undo_while_running),
		cmocka_unit_test(test_gone_process_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
