// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A separate thread does the tracing, because the tracer of a process is a thread, and stops must
 * not wait for the rest of the program. exit_hold.c knows what a stop means for its process. The
 * thread waits for its tracees. To deliver a request, a signal without any other effect wakes it
 * up; the signal is repeated until the request is taken, so no request is missed. The thread waits
 * only for its own tracees (__WNOTHREAD), and leaves a child's exit status to the code that waits
 * for the child (WNOWAIT, and os/exec/launch.h). When the thread exits, the kernel detaches all its
 * remaining tracees.
 *
 * New threads are traced from their start (PTRACE_O_TRACECLONE), and so are new processes if
 * `family` is set (PTRACE_O_TRACEFORK and PTRACE_O_TRACEVFORK), so none can exit unseen. Both the
 * parent and the child stop, in either order; whichever stop comes first adds the child. Without
 * `family`, a process that was created by an unusual clone(2) is detached.
 */
#include "os/ptrace/exit_watch.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "os/process/proc.h"
#include "os/ptrace/exit_hold.h"

#define WAKE_SIGNAL SIGRTMIN
#define POLL_NS     1000000 /* used while a deadline is pending */

enum request { REQUEST_NONE, REQUEST_STOP, REQUEST_CONTINUE, REQUEST_DROP, REQUEST_END };

struct exit_watch {
	struct holder holder; /* must be the first member */
	struct exit_tracer *tracer;
	struct exit_hold hold;
	atomic_bool over; /* the process has exited */
	/* For the tracing thread only: */
	bool asked;   /* somebody waits for it to stop */
	bool dropped; /* detach each thread when it next stops for any reason */
};

/* The tracing thread and what it traces. */
struct exit_tracer {
	pthread_t thread;
	int event;
	bool family;
	pid_t own_child; /* our child, whose exit status the thread must not take; or 0 */
	size_t handles;  /* number of watches that callers have; used by the callers only */
	atomic_int request;
	struct exit_watch *first;
	struct exit_watch *subject; /* of the request */
	sem_t answered;
	int code; /* the answer */
	struct error *err;
	atomic_bool ended;    /* the thread has exited */
	pthread_mutex_t lock; /* protects new_watches */
	VEC(struct exit_watch *) new_watches;

	/* For the tracing thread only: */
	VEC(struct exit_watch *) watches; /* includes those that are over */
	bool closing;
	bool shadowed; /* until our child is waited for, its exit hides other events */
};

/* The write fails only if the counter is at its limit, and then the eventfd is readable. */
static void raise_event(const struct exit_tracer *tracer)
{
	const uint64_t one = 1;

	if (write(tracer->event, &one, sizeof(one)) < 0)
		return;
}

static void answer(struct exit_tracer *tracer, int code)
{
	tracer->code = code;
	sem_post(&tracer->answered);
}

static void answer_stop(struct exit_watch *watch, int code)
{
	struct exit_tracer *tracer = watch->tracer;

	if (!watch->asked)
		return;
	watch->asked = false;
	if (code)
		error_set_errno(tracer->err, code, "cannot stop %d", (int)watch->hold.pid);
	answer(tracer, code);
}

static const struct holder_ops holder_ops;

/* Processes. */

static int add_watch(struct exit_tracer *tracer, pid_t pid, struct exit_watch **ret_watch)
{
	struct exit_watch *watch = calloc(1, sizeof(*watch));

	if (!watch || vec_push(&tracer->watches, watch)) {
		free(watch);
		return -ENOMEM;
	}
	watch->holder.ops = &holder_ops;
	watch->tracer = tracer;
	watch->hold.pid = watch->hold.tracees.pid = pid;
	watch->hold.tracees.family = tracer->family;
	*ret_watch = watch;
	return 0;
}

static void free_watch(struct exit_watch *watch)
{
	hold_free(&watch->hold);
	free(watch);
}

static void remove_watch(struct exit_tracer *tracer, struct exit_watch *watch)
{
	size_t kept = 0;

	for (size_t i = 0; i < tracer->watches.count; i++)
		if (tracer->watches.items[i] != watch)
			tracer->watches.items[kept++] = tracer->watches.items[i];
	tracer->watches.count = kept;
	free_watch(watch);
}

static bool all_over(const struct exit_tracer *tracer)
{
	struct exit_watch *const *watch;

	vec_each (watch, &tracer->watches)
		if (!(*watch)->over)
			return false;
	return true;
}

static void end_watch(struct exit_tracer *tracer, struct exit_watch *watch)
{
	watch->over = true;
	answer_stop(watch, -ESRCH);
	if (watch->dropped)
		remove_watch(tracer, watch);
	tracer->closing |= all_over(tracer);
	raise_event(tracer);
}

static struct exit_watch *find_watch(const struct exit_tracer *tracer, pid_t tid)
{
	struct exit_watch *const *watch;

	vec_each (watch, &tracer->watches)
		if (!(*watch)->over &&
		    ((*watch)->hold.pid == tid || tracees_find(&(*watch)->hold.tracees, tid)))
			return *watch;
	return NULL;
}

/* Finds the process of a thread that its parent has not reported yet. */
static struct exit_watch *find_owner(const struct exit_tracer *tracer, pid_t tid)
{
	struct exit_watch *const *watch;

	vec_each (watch, &tracer->watches)
		if (!(*watch)->over && tracees_owns(&(*watch)->hold.tracees, tid))
			return *watch;
	return NULL;
}

/* Returns NULL if out of memory; then the caller detaches the process. */
static struct exit_watch *new_process(struct exit_tracer *tracer, pid_t pid)
{
	struct exit_watch *watch;
	int code;

	if (add_watch(tracer, pid, &watch))
		return NULL;
	watch->hold.armed = true;
	pthread_mutex_lock(&tracer->lock);
	code = vec_push(&tracer->new_watches, watch);
	pthread_mutex_unlock(&tracer->lock);
	if (code) {
		remove_watch(tracer, watch);
		return NULL;
	}
	raise_event(tracer);
	return watch;
}

/* Returns true if `tid` is a process that we trace; its parent may report one that was detached. */
static bool is_new_process(pid_t tid)
{
	struct proc_info info;
	bool process;

	if (proc_info_read(tid, &info))
		return false;
	process = info.tgid == tid && tracee_tracer(tid, tid) == (pid_t)syscall(SYS_gettid);
	proc_info_free(&info);
	return process;
}

/* Finds or adds the thread in the watch of its process. Returns NULL if we do not watch that. */
static struct exit_watch *take_thread(struct exit_tracer *tracer, pid_t tid)
{
	struct exit_watch *watch = find_watch(tracer, tid);

	if (!watch)
		watch = find_owner(tracer, tid);
	if (!watch && tracer->family && is_new_process(tid))
		watch = new_process(tracer, tid);
	if (!watch || tracees_find(&watch->hold.tracees, tid))
		return watch;
	return tracees_add(&watch->hold.tracees, tid) ? NULL : watch;
}

/* Events. */

static void new_thread(struct exit_tracer *tracer, pid_t parent)
{
	unsigned long tid = 0;

	if (!ptrace(PTRACE_GETEVENTMSG, parent, NULL, &tid) && tid)
		(void)take_thread(tracer, (pid_t)tid);
}

static bool is_fork(int event)
{
	return event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
	       event == PTRACE_EVENT_VFORK;
}

static void let_go(struct exit_tracer *tracer, struct exit_watch *watch, pid_t tid, int status)
{
	int signal_number = TRACEE_EVENT(status) ? 0 : TRACEE_SIGNAL(status);

	ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal_number);
	if (!watch)
		return;
	tracees_remove(&watch->hold.tracees, tid);
	if (!watch->hold.tracees.list.count)
		remove_watch(tracer, watch);
}

static void thread_stopped(struct exit_tracer *tracer, pid_t tid, int status)
{
	int event = TRACEE_EVENT(status);
	struct exit_watch *watch;

	if (is_fork(event))
		new_thread(tracer, tid);
	watch = take_thread(tracer, tid);
	if (!watch || watch->dropped) {
		let_go(tracer, watch, tid, status);
		return;
	}
	if (event == PTRACE_EVENT_EXEC)
		hold_exec(&watch->hold);
	hold_stopped(&watch->hold, tracees_find(&watch->hold.tracees, tid), status);
}

static bool has_ended(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED ||
	       info->si_code == CLD_DUMPED;
}

/* A first thread's status arrives after all others have exited, and then goes to the parent. */
static void thread_ended(struct exit_tracer *tracer, pid_t tid)
{
	struct exit_watch *watch = find_watch(tracer, tid);
	siginfo_t info;

	if (tid == tracer->own_child)
		tracer->shadowed = true;
	else
		waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | __WALL);
	if (watch && tid == watch->hold.pid)
		end_watch(tracer, watch);
	else if (watch)
		tracees_exited(&watch->hold.tracees, tid);
}

/* Handles one event of the given thread or threads. Returns false if there was none. */
static bool take_event_of(struct exit_tracer *tracer, idtype_t type, pid_t tid, int options)
{
	siginfo_t info = {0};

	if (waitid(type, (id_t)tid, &info, options | WNOWAIT | __WALL | __WNOTHREAD)) {
		if (errno == ECHILD && type == P_ALL)
			tracer->closing = true;
		return false;
	}
	tid = info.si_pid;
	if (!tid)
		return false;
	if (has_ended(&info)) {
		thread_ended(tracer, tid);
		return true;
	}
	info.si_pid = 0;
	if (!waitid(P_PID, (id_t)tid, &info, WSTOPPED | __WALL | __WNOTHREAD | WNOHANG) &&
	    info.si_pid)
		thread_stopped(tracer, tid, info.si_status);
	return true;
}

/* Takes one stop of any thread, or one exit of a known one: that changes the lists. */
static bool take_event_one_by_one(struct exit_tracer *tracer)
{
	if (take_event_of(tracer, P_ALL, 0, WSTOPPED | WNOHANG))
		return true;
	for (size_t i = 0; i < tracer->watches.count; i++) {
		const struct exit_watch *watch = tracer->watches.items[i];

		for (size_t j = 0; !watch->over && j < watch->hold.tracees.list.count; j++)
			if (take_event_of(tracer, P_PID, watch->hold.tracees.list.items[j].tid,
					  WEXITED | WNOHANG))
				return true;
	}
	return false;
}

static bool is_shadowed(const struct exit_tracer *tracer)
{
	siginfo_t info;

	return tracer->shadowed &&
	       !waitid(P_PID, (id_t)tracer->own_child, &info, WEXITED | WNOHANG | WNOWAIT | __WALL);
}

static bool take_event(struct exit_tracer *tracer, bool wait)
{
	tracer->shadowed = is_shadowed(tracer);
	if (tracer->shadowed)
		return take_event_one_by_one(tracer);
	return take_event_of(tracer, P_ALL, 0, WSTOPPED | WEXITED | (wait ? 0 : WNOHANG));
}

/* Requests. */

/* Running threads are detached when they stop, or when the tracing thread exits. */
static void drop(struct exit_tracer *tracer, struct exit_watch *watch)
{
	tracees_detach(&watch->hold.tracees);
	watch->dropped = tracees_any(&watch->hold.tracees, TRACEE_RUNS) && !watch->over;
	if (!watch->dropped)
		remove_watch(tracer, watch);
	tracer->closing |= all_over(tracer);
}

/* Answers immediately, or when all threads have stopped. */
static void request_stop(struct exit_watch *watch)
{
	watch->asked = true;
	if (watch->over || watch->hold.at_end)
		answer_stop(watch, watch->over ? -ESRCH : 0);
	else
		hold_begin_stop(&watch->hold);
}

static void take_request(struct exit_tracer *tracer)
{
	int request = atomic_exchange(&tracer->request, REQUEST_NONE);

	if (request == REQUEST_STOP)
		request_stop(tracer->subject);
	if (request == REQUEST_NONE || request == REQUEST_STOP)
		return;
	if (request == REQUEST_CONTINUE && !tracer->subject->hold.at_end)
		hold_resume(&tracer->subject->hold);
	else if (request == REQUEST_DROP)
		drop(tracer, tracer->subject);
	else if (request == REQUEST_END)
		tracer->closing = true;
	answer(tracer, 0);
}

/* Answers requests whose stops have completed. Returns true if a deadline is pending. */
static bool check_stops(struct exit_tracer *tracer)
{
	struct exit_watch *const *watch;
	bool waits = false;

	vec_each (watch, &tracer->watches) {
		enum hold_state state = (*watch)->over ? HOLD_NONE : hold_check(&(*watch)->hold);

		if (state == HOLD_COMPLETE)
			answer_stop(*watch, 0);
		if (state == HOLD_COMPLETE && (*watch)->hold.at_end)
			raise_event(tracer);
		if (state == HOLD_FAILED)
			answer_stop(*watch, (*watch)->hold.failure);
		waits |= (*watch)->hold.deadline_ns != 0;
	}
	return waits;
}

static void work(struct exit_tracer *tracer)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	bool waits = false;

	while (!tracer->closing) {
		waits |= tracer->shadowed;
		if (!take_event(tracer, !waits) && waits)
			nanosleep(&pause, NULL);
		take_request(tracer);
		waits = check_stops(tracer);
	}
}

static void let_all_go(struct exit_tracer *tracer)
{
	struct exit_watch *const *watch;

	vec_each (watch, &tracer->watches) {
		answer_stop(*watch, -ESRCH);
		tracees_detach(&(*watch)->hold.tracees);
		(*watch)->over = true;
	}
}

/* Some threads are already stopped by the seizure. */
static int start(struct exit_tracer *tracer)
{
	struct seizure seizure;
	int code = tracees_seize(&tracer->first->hold.tracees, &seizure, tracer->err);
	const struct seized_thread *thread;

	if (code)
		return code;
	vec_each (thread, &seizure.threads)
		if (thread->stopped)
			thread_stopped(tracer, thread->tid, thread->status);
	seize_free(&seizure);
	return 0;
}

static void *trace(void *argument)
{
	struct exit_tracer *tracer = argument;
	int code = start(tracer);

	answer(tracer, code);
	if (!code)
		work(tracer);
	let_all_go(tracer);
	tracer->ended = true;
	return NULL;
}

/* The callers' side. */

static void wake(int signal_number)
{
	(void)signal_number;
}

/* Starts the thread with all signals blocked except the one that wakes it. */
static int start_thread(struct exit_tracer *tracer)
{
	const struct sigaction action = {.sa_handler = wake};
	sigset_t all, mask;
	int code;

	sigaction(WAKE_SIGNAL, &action, NULL);
	sigfillset(&all);
	sigdelset(&all, WAKE_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	code = -pthread_create(&tracer->thread, NULL, trace, tracer);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return code;
}

static bool wait_answer(struct exit_tracer *tracer, uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return !sem_timedwait(&tracer->answered, &until);
}

/* Repeats the signal: the tracing thread may have been just about to wait when it arrived. */
static int ask(struct exit_watch *watch, enum request request, struct error *err)
{
	struct exit_tracer *tracer = watch->tracer;

	tracer->err = err;
	tracer->subject = watch;
	tracer->request = request;
	do {
		if (tracer->ended && sem_trywait(&tracer->answered))
			return error_set_errno(err, -ESRCH, "cannot stop %d", (int)watch->hold.pid);
		if (tracer->ended)
			break;
		pthread_kill(tracer->thread, WAKE_SIGNAL);
	} while (!wait_answer(tracer, POLL_NS));
	return tracer->code;
}

static void free_tracer(struct exit_tracer *tracer)
{
	struct exit_watch *const *watch;

	vec_each (watch, &tracer->watches)
		free_watch(*watch);
	vec_free(&tracer->watches);
	vec_free(&tracer->new_watches);
	pthread_mutex_destroy(&tracer->lock);
	sem_destroy(&tracer->answered);
	free(tracer);
}

static bool is_own_child(pid_t pid)
{
	struct proc_info info;
	bool own;

	if (proc_info_read(pid, &info))
		return false;
	own = info.ppid == getpid();
	proc_info_free(&info);
	return own;
}

static int new_tracer(const struct hold_request *options, struct exit_tracer **ret_tracer)
{
	struct exit_tracer *tracer = calloc(1, sizeof(*tracer));

	if (!tracer)
		return -ENOMEM;
	tracer->event = options->event;
	tracer->family = options->family;
	tracer->own_child = is_own_child(options->pid) ? options->pid : 0;
	tracer->handles = 1;
	sem_init(&tracer->answered, 0, 0);
	pthread_mutex_init(&tracer->lock, NULL);
	if (add_watch(tracer, options->pid, &tracer->first)) {
		free_tracer(tracer);
		return -ENOMEM;
	}
	tracer->first->hold.armed = options->from == HOLD_NOW;
	*ret_tracer = tracer;
	return 0;
}

int exit_watch_start(struct exit_watch **ret_watch, const struct hold_request *options,
		     struct error *err)
{
	struct exit_tracer *tracer;
	int code = new_tracer(options, &tracer);

	if (code)
		return error_set_errno(err, code, "cannot watch %d", (int)options->pid);
	tracer->err = err;
	code = start_thread(tracer);
	if (code) {
		free_tracer(tracer);
		return error_set_errno(err, code, "cannot watch %d", (int)options->pid);
	}
	while (sem_wait(&tracer->answered))
		;
	code = tracer->code;
	if (code)
		exit_watch_close(tracer->first);
	else
		*ret_watch = tracer->first;
	return code;
}

struct exit_watch *exit_watch_child(struct exit_watch *watch)
{
	struct exit_tracer *tracer = watch->tracer;
	struct exit_watch *child = NULL;

	pthread_mutex_lock(&tracer->lock);
	if (tracer->new_watches.count)
		child = tracer->new_watches.items[--tracer->new_watches.count];
	pthread_mutex_unlock(&tracer->lock);
	tracer->handles += child != NULL;
	return child;
}

pid_t exit_watch_pid(const struct exit_watch *watch)
{
	return watch->hold.pid;
}

bool exit_watch_at_end(const struct exit_watch *watch)
{
	return watch->hold.at_end && !watch->over;
}

bool exit_watch_is_over(const struct exit_watch *watch)
{
	return watch->over;
}

int exit_watch_stop(struct exit_watch *watch, struct error *err)
{
	return ask(watch, REQUEST_STOP, err);
}

const struct thread_registers *exit_watch_threads(const struct exit_watch *watch, size_t *ret_count)
{
	const struct tracee_set *set =
		watch->hold.at_end ? &watch->hold.at_last : &watch->hold.on_demand;

	*ret_count = set->registers.count;
	return set->registers.items;
}

void exit_watch_continue(struct exit_watch *watch)
{
	(void)ask(watch, REQUEST_CONTINUE, NULL);
}

void exit_watch_close(struct exit_watch *watch)
{
	struct exit_tracer *tracer = watch ? watch->tracer : NULL;

	if (!watch)
		return;
	if (--tracer->handles) {
		(void)ask(watch, REQUEST_DROP, NULL);
		return;
	}
	(void)ask(watch, REQUEST_END, NULL);
	pthread_join(tracer->thread, NULL);
	free_tracer(tracer);
}

/* The watch as a holder. */

static int holder_stop(struct holder *holder, struct error *err)
{
	return exit_watch_stop((struct exit_watch *)holder, err);
}

static const struct thread_registers *holder_threads(const struct holder *holder, size_t *ret_count)
{
	return exit_watch_threads((const struct exit_watch *)holder, ret_count);
}

static void holder_go_on(struct holder *holder)
{
	exit_watch_continue((struct exit_watch *)holder);
}

static bool holder_at_end(const struct holder *holder)
{
	return exit_watch_at_end((const struct exit_watch *)holder);
}

static bool holder_is_over(const struct holder *holder)
{
	return exit_watch_is_over((const struct exit_watch *)holder);
}

static struct holder *holder_child(struct holder *holder, pid_t *ret_pid)
{
	struct exit_watch *child = exit_watch_child((struct exit_watch *)holder);

	if (!child)
		return NULL;
	*ret_pid = exit_watch_pid(child);
	return &child->holder;
}

static void holder_close(struct holder *holder)
{
	exit_watch_close((struct exit_watch *)holder);
}

static const struct holder_ops holder_ops = {
	.stop = holder_stop,
	.threads = holder_threads,
	.go_on = holder_go_on,
	.at_end = holder_at_end,
	.is_over = holder_is_over,
	.child = holder_child,
	.close = holder_close,
};

struct holder *exit_watch_holder(struct exit_watch *watch)
{
	return &watch->holder;
}
