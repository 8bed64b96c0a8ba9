// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PTRACE_SEIZE with PTRACE_O_TRACEEXIT stops each thread at the beginning of its exit, when it has
 * its registers and the process its memory. Which of these stops is the process's end?
 *
 * - The thread was killed by a signal: such signals end the process.
 * - No other thread is left: each was seen to go.
 * - It is in exit_group(2), or in exit(2), which ends this thread alone.
 * - Else another thread ends the process or begins a new image, and this one has to go. It waits
 *   until the other one has come to its own stop, which tells; or is found within execve(2).
 *
 * At the end all threads are held: each comes to its stop, and its registers count.
 *
 * What the tracer must not change: signals are handed on as they come. A process that is stopped by
 * job control must stay so and yet wake up at SIGCONT: PTRACE_LISTEN. New threads are traced from
 * birth (PTRACE_O_TRACECLONE); a process that was born by an odd clone(2) is let go.
 *
 * A thread of its own does all this, because a tracer is a thread and stops must not wait for the
 * rest of the program. It waits for tracees; a signal without effect wakes it up for a request, and
 * is sent again until the request is taken, so none is lost. It waits for its own tracees only
 * (__WNOTHREAD), and leaves a child's exit status to whoever waits for the child (WNOWAIT, and
 * launch.h). When it ends, the kernel lets go of all that it traces and that was not let go before.
 */
#include "os/exit_watch.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/registers.h"
#include "os/proc.h"
#include "os/tracees.h"

#define WAKE_SIGNAL     SIGRTMIN
#define STOP_TIMEOUT_NS (2 * 1000000000ULL)
#define POLL_NS         1000000 /* where time counts, too */

enum request { REQUEST_NONE, REQUEST_STOP, REQUEST_CONTINUE, REQUEST_CLOSE };

struct exit_watch {
	pid_t pid;
	pthread_t tracer;
	int fd; /* eventfd */
	atomic_int request;
	sem_t answered;
	int code; /* the answer */
	struct error *err;
	atomic_bool ended;           /* the tracer's thread has */
	atomic_bool at_end;          /* all threads are held */
	struct tracee_set on_demand; /* registers in a stop that was asked for … */
	struct tracee_set at_last;   /* … and at the end */

	/* The tracer's: */
	bool armed;    /* the end counts */
	bool stopping; /* what stops stays so */
	bool ending;
	bool closing;
	uint64_t deadline_ns; /* of the stop that is awaited, or of undecided exits; 0: none */
	struct tracees tracees;
};

static void resume_all(struct exit_watch *watch)
{
	watch->stopping = false;
	watch->ending = false;
	watch->deadline_ns = 0;
	tracees_resume(&watch->tracees);
}

static void await_stops(struct exit_watch *watch)
{
	watch->stopping = true;
	watch->deadline_ns = clock_now_ns() + STOP_TIMEOUT_NS;
}

/* Exits. */

enum exit_kind { EXIT_OF_THREAD, EXIT_OF_PROCESS, EXIT_BY_KILL, EXIT_UNKNOWN };

static const struct registers_layout *layout_of(pid_t tid)
{
	struct thread_registers registers = {.tid = tid};
	const struct registers_layout *layout;

	tracee_read_registers(&registers);
	layout = registers_layout_of_word(registers.word);
	tracee_free_registers(&registers);
	return layout;
}

static enum exit_kind exit_by_call(const struct exit_watch *watch, const struct tracee *tracee)
{
	const struct registers_layout *layout = tracee->layout;
	long call = tracee_call(watch->pid, tracee->tid);

	if (layout && call == layout->exit)
		return EXIT_OF_THREAD;
	return layout && call == layout->exit_group ? EXIT_OF_PROCESS : EXIT_UNKNOWN;
}

static enum exit_kind exit_kind_of(const struct exit_watch *watch, const struct tracee *tracee)
{
	unsigned long status = 0;

	ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &status);
	if (WIFSIGNALED((int)status))
		return WTERMSIG((int)status) == SIGKILL ? EXIT_BY_KILL : EXIT_OF_PROCESS;
	if (!tracees_any(&watch->tracees, TRACEE_RUNS) &&
	    !tracees_any(&watch->tracees, TRACEE_STOPPED) &&
	    !tracees_any(&watch->tracees, TRACEE_EXITING))
		return EXIT_OF_PROCESS;
	return exit_by_call(watch, tracee);
}

/* The thread's state is TRACEE_GONE meanwhile, so that it does not count. */
static void exit_stop(struct exit_watch *watch, struct tracee *tracee)
{
	enum exit_kind kind;

	tracee->state = TRACEE_GONE;
	tracee->layout = layout_of(tracee->tid);
	kind = exit_kind_of(watch, tracee);
	if (kind == EXIT_BY_KILL || !watch->armed) {
		ptrace(PTRACE_CONT, tracee->tid, NULL, NULL);
		return;
	}
	tracee->state = TRACEE_EXITING;
	if (kind == EXIT_OF_PROCESS && !watch->ending) {
		watch->ending = true;
		await_stops(watch);
	}
	if (watch->stopping)
		tracee->state = TRACEE_HELD;
	else if (kind == EXIT_OF_THREAD)
		tracee_resume(tracee);
	else
		watch->deadline_ns = clock_now_ns() + STOP_TIMEOUT_NS;
}

/* Is one of the others about to begin a new image? */
static bool is_execing(const struct exit_watch *watch, const struct registers_layout *layout)
{
	const struct tracee *tracee;

	vec_each (tracee, &watch->tracees.list) {
		long call = -1;

		if (tracee->state == TRACEE_RUNS)
			call = tracee_call(watch->pid, tracee->tid);
		if (call >= 0 && (call == layout->execve || call == layout->execveat))
			return true;
	}
	return false;
}

static bool is_due(const struct exit_watch *watch)
{
	return watch->deadline_ns && clock_now_ns() > watch->deadline_ns;
}

/* Exits of which it is not known whose end they are: the end of the process, or an exec. */
static void decide_exits(struct exit_watch *watch)
{
	bool undecided = false;
	struct tracee *tracee;

	vec_each (tracee, &watch->tracees.list) {
		if (tracee->state != TRACEE_EXITING)
			continue;
		if (watch->ending)
			tracee->state = TRACEE_HELD;
		else if (!tracee->layout || is_due(watch) || is_execing(watch, tracee->layout))
			tracee_resume(tracee);
		else
			undecided = true;
	}
	if (!undecided && !watch->stopping)
		watch->deadline_ns = 0;
}

/* Other stops. */

static bool stops_processes(int signal_number)
{
	return signal_number == SIGSTOP || signal_number == SIGTSTP || signal_number == SIGTTIN ||
	       signal_number == SIGTTOU;
}

static void new_thread(struct exit_watch *watch, pid_t parent)
{
	unsigned long tid = 0;

	if (!ptrace(PTRACE_GETEVENTMSG, parent, NULL, &tid) &&
	    !tracees_find(&watch->tracees, (pid_t)tid) && tracees_owns(&watch->tracees, (pid_t)tid))
		(void)tracees_add(&watch->tracees, (pid_t)tid);
}

/* The one that called execve is the first thread now, and the only one. */
static void new_image(struct exit_watch *watch)
{
	while (watch->tracees.list.count)
		tracees_remove(&watch->tracees,
			       watch->tracees.list.items[watch->tracees.list.count - 1].tid);
	(void)tracees_add(&watch->tracees, watch->pid);
	watch->armed = true;
}

static void thread_stopped(struct exit_watch *watch, pid_t tid, int status)
{
	int event = TRACEE_EVENT(status), signal_number = TRACEE_SIGNAL(status);
	struct tracee *tracee;

	if (event == PTRACE_EVENT_EXEC)
		new_image(watch);
	if (event == PTRACE_EVENT_CLONE)
		new_thread(watch, tid);
	tracee = tracees_find(&watch->tracees, tid);
	if (!tracee && tracees_owns(&watch->tracees, tid) && !tracees_add(&watch->tracees, tid))
		tracee = tracees_find(&watch->tracees, tid);
	if (!tracee) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return;
	}
	if (event == PTRACE_EVENT_EXIT) {
		exit_stop(watch, tracee);
		return;
	}
	tracee->state = TRACEE_STOPPED;
	tracee->signal = event ? 0 : signal_number;
	tracee->listen = event == PTRACE_EVENT_STOP && stops_processes(signal_number);
	if (!watch->stopping)
		tracee_resume(tracee);
}

static bool has_ended(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED ||
	       info->si_code == CLD_DUMPED;
}

/* The first thread's status is for its parent, and comes when all others are gone. */
static void thread_ended(struct exit_watch *watch, pid_t tid)
{
	siginfo_t info;

	if (tid == watch->pid) {
		watch->closing = true;
		return;
	}
	waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | __WALL);
	tracees_remove(&watch->tracees, tid);
}

/* One event of a tracee. False if there was none. */
static bool take_event(struct exit_watch *watch, int options)
{
	const int all = WSTOPPED | WEXITED | __WALL | __WNOTHREAD;
	siginfo_t info = {0};
	pid_t tid;

	if (waitid(P_ALL, 0, &info, all | WNOWAIT | options)) {
		if (errno == ECHILD)
			watch->closing = true;
		return false;
	}
	tid = info.si_pid;
	if (!tid)
		return false;
	if (has_ended(&info)) {
		thread_ended(watch, tid);
		return true;
	}
	info.si_pid = 0;
	if (!waitid(P_PID, (id_t)tid, &info, WSTOPPED | __WALL | __WNOTHREAD | WNOHANG) &&
	    info.si_pid)
		thread_stopped(watch, tid, info.si_status);
	return true;
}

/* Requests. */

static void answer(struct exit_watch *watch, int code)
{
	watch->code = code;
	sem_post(&watch->answered);
}

static void begin_stop(struct exit_watch *watch)
{
	const struct tracee *tracee;

	await_stops(watch);
	vec_each (tracee, &watch->tracees.list)
		if (tracee->state == TRACEE_RUNS)
			ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL);
}

/* A request that needs time is answered later: *asked. */
static void take_request(struct exit_watch *watch, bool *asked)
{
	int request = atomic_exchange(&watch->request, REQUEST_NONE);

	if (request == REQUEST_NONE)
		return;
	if (request == REQUEST_STOP && !watch->at_end) {
		begin_stop(watch);
		*asked = true;
		return;
	}
	if (request == REQUEST_CONTINUE && !watch->at_end)
		resume_all(watch);
	else if (request == REQUEST_CLOSE)
		watch->closing = true;
	answer(watch, 0);
}

static void stop_failed(struct exit_watch *watch, int code, bool asked)
{
	resume_all(watch);
	if (asked)
		answer(watch, error_set_errno(watch->err, code, "cannot stop %d", (int)watch->pid));
}

/* Everything that was to stop has stopped. The counter of an eventfd that nobody reads is free. */
static void stop_complete(struct exit_watch *watch, bool asked)
{
	const uint64_t one = 1;
	int code =
		tracees_read(&watch->tracees, watch->ending ? &watch->at_last : &watch->on_demand);

	if (code) {
		stop_failed(watch, code, asked);
		return;
	}
	watch->deadline_ns = 0;
	watch->at_end = watch->ending;
	if (watch->ending && write(watch->fd, &one, sizeof(one)) < 0)
		watch->closing = true;
	if (asked)
		answer(watch, 0);
}

/* Is the stop that is awaited there? `asked`: somebody waits for the answer. */
static void check_stop(struct exit_watch *watch, bool *asked)
{
	if (!watch->stopping || !watch->deadline_ns)
		return;
	if (!tracees_any(&watch->tracees, TRACEE_RUNS))
		stop_complete(watch, *asked);
	else if (is_due(watch))
		stop_failed(watch, -ETIMEDOUT, *asked);
	else
		return;
	*asked = false;
}

static void work(struct exit_watch *watch)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	bool asked = false;

	while (!watch->closing) {
		bool waits = watch->deadline_ns;

		if (!take_event(watch, waits ? WNOHANG : 0) && waits)
			nanosleep(&pause, NULL);
		take_request(watch, &asked);
		decide_exits(watch);
		check_stop(watch, &asked);
	}
	if (asked)
		answer(watch,
		       error_set_errno(watch->err, -ESRCH, "cannot stop %d", (int)watch->pid));
}

static void *trace(void *argument)
{
	struct exit_watch *watch = argument;
	int code = tracees_seize(&watch->tracees, watch->err);

	answer(watch, code);
	if (!code)
		work(watch);
	tracees_detach(&watch->tracees);
	watch->ended = true;
	return NULL;
}

/* Who asks. */

static void wake(int signal_number)
{
	(void)signal_number;
}

/* All signals are blocked but the one that wakes it. */
static int start_tracer(struct exit_watch *watch)
{
	const struct sigaction action = {.sa_handler = wake};
	sigset_t all, mask;
	int code;

	sigaction(WAKE_SIGNAL, &action, NULL);
	sigfillset(&all);
	sigdelset(&all, WAKE_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	code = -pthread_create(&watch->tracer, NULL, trace, watch);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return code;
}

static bool wait_answer(struct exit_watch *watch, uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return !sem_timedwait(&watch->answered, &until);
}

/* The tracer may be about to wait when it is woken; so it is woken again. */
static int ask(struct exit_watch *watch, enum request request, struct error *err)
{
	watch->err = err;
	watch->request = request;
	do {
		if (watch->ended && sem_trywait(&watch->answered))
			return error_set_errno(err, -ESRCH, "cannot stop %d", (int)watch->pid);
		if (watch->ended)
			break;
		pthread_kill(watch->tracer, WAKE_SIGNAL);
	} while (!wait_answer(watch, POLL_NS));
	return watch->code;
}

static void free_watch(struct exit_watch *watch)
{
	tracee_set_free(&watch->on_demand);
	tracee_set_free(&watch->at_last);
	tracees_free(&watch->tracees);
	sem_destroy(&watch->answered);
	if (watch->fd >= 0)
		close(watch->fd);
	free(watch);
}

int exit_watch_start(struct exit_watch **ret_watch, pid_t pid, enum exit_watch_from from,
		     struct error *err)
{
	struct exit_watch *watch = calloc(1, sizeof(*watch));
	int code;

	if (!watch)
		return error_set_errno(err, -ENOMEM, "cannot watch %d", (int)pid);
	watch->pid = watch->tracees.pid = pid;
	watch->err = err;
	watch->armed = from == EXIT_WATCH_NOW;
	sem_init(&watch->answered, 0, 0);
	watch->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = watch->fd < 0 ? -errno : start_tracer(watch);
	if (code) {
		free_watch(watch);
		return error_set_errno(err, code, "cannot watch %d", (int)pid);
	}
	while (sem_wait(&watch->answered))
		;
	code = watch->code;
	if (code)
		exit_watch_close(watch);
	else
		*ret_watch = watch;
	return code;
}

int exit_watch_fd(const struct exit_watch *watch)
{
	return watch->fd;
}

bool exit_watch_at_end(const struct exit_watch *watch)
{
	return watch->at_end;
}

int exit_watch_stop(struct exit_watch *watch, struct error *err)
{
	return ask(watch, REQUEST_STOP, err);
}

const struct thread_registers *exit_watch_threads(const struct exit_watch *watch, size_t *ret_count)
{
	const struct tracee_set *set = watch->at_end ? &watch->at_last : &watch->on_demand;

	*ret_count = set->registers.count;
	return set->registers.items;
}

void exit_watch_continue(struct exit_watch *watch)
{
	(void)ask(watch, REQUEST_CONTINUE, NULL);
}

void exit_watch_close(struct exit_watch *watch)
{
	if (!watch)
		return;
	(void)ask(watch, REQUEST_CLOSE, NULL);
	pthread_join(watch->tracer, NULL);
	free_watch(watch);
}
