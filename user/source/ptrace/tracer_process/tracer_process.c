/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process only waits in waitpid, for a thread to stop. Everything else (a request, the end of
 * the command, a deadline) interrupts it by a signal. A signal that arrives before it waits would
 * be lost, so the requester resends it until there is a reply (mailbox.c), and a timer repeats the
 * others.
 */
#include "source/ptrace/tracer_process/tracer_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "source/ptrace/breakpoint/space.h"
#include "source/ptrace/breakpoint/foreign_uprobes.h"
#include "source/ptrace/tracer_process/forks.h"
#include "source/ptrace/tracer_process/exit_hold.h"
#include "source/ptrace/tracer_process/orphans.h"
#include "source/ptrace/tracer_process/table.h"
#include "source/ptrace/tracer_process/tasks.h"
#include "source/ptrace/tracer/tracer.h"

#define CHECK_TURNS  64 /* stops in a row, after which to look for other events */
#define STOP_WAIT_NS 2000000000ULL
#define TICK_US      1000 /* while something must be rechecked */
#define IDLE_TICK_US 200000
#define END_WAIT_NS  1000000000ULL
#define END_NAP_NS   200000

/*
 * Requests of the command.
 */

static int do_seize(struct tracer *tracer, struct mailbox *mailbox)
{
	return tasks_seize(tracer, mailbox->pid);
}

static int do_forget(struct tracer *tracer, struct mailbox *mailbox)
{
	struct owner *owner = owner_find(tracer, mailbox->pid);

	if (owner)
		owner_leave(tracer, owner);
	return owner ? 0 : -ESRCH;
}

static int do_place(struct tracer *tracer, struct mailbox *mailbox)
{
	struct owner *owner = owner_find(tracer, mailbox->pid);

	if (!owner)
		return -ESRCH;
	for (uint32_t i = 0; i < mailbox->count; i++) {
		struct breakpoint_place *place = &mailbox->items.places[i];

		place->result = breakpoint_place(owner->memory, place->address,
						 (enum probe_kind)place->kind, place->cookie,
						 place->original);
	}
	return 0;
}

static int do_code(struct tracer *tracer, struct mailbox *mailbox)
{
	struct owner *owner = owner_find(tracer, mailbox->pid);
	struct space *memory;

	if (!owner)
		return -ESRCH;
	memory = owner->memory;
	memory->code.count = 0;
	breakpoints_forget_unmapped(memory);
	return vec_append(&memory->code, mailbox->items.code, mailbox->count);
}

static int do_go_on(struct tracer *tracer, struct mailbox *mailbox)
{
	struct task *task = task_find(tracer, mailbox->pid);

	if (!task || task->state != TASK_HELD)
		return -ESRCH;
	task_continue(task, 0);
	return 0;
}

static int do_losses(struct tracer *tracer, struct mailbox *mailbox)
{
	struct owner *owner = owner_find(tracer, mailbox->pid);

	if (!owner)
		return -ESRCH;
	foreign_uprobes_check_now(tracer, owner);
	memcpy(mailbox->items.losses, owner->losses, sizeof(owner->losses));
	mailbox->items.losses[LOSS_GAP_NS] += foreign_uprobes_gap_ns(owner);
	return 0;
}

static int do_watch(struct tracer *tracer, struct mailbox *mailbox)
{
	struct owner *owner = owner_find(tracer, mailbox->pid);

	if (owner)
		exit_hold_watch(owner, (enum hold_from)mailbox->count);
	return owner ? 0 : -ESRCH;
}

static int do_let_end(struct tracer *tracer, struct mailbox *mailbox)
{
	struct owner *owner = owner_find(tracer, mailbox->pid);

	if (owner)
		exit_hold_release(tracer, owner);
	return owner ? 0 : -ESRCH;
}

/* The reply comes later. */
#define LATER 1

static int do_stop(struct tracer *tracer, struct mailbox *mailbox)
{
	struct owner *owner = owner_find(tracer, mailbox->pid);

	if (!owner)
		return -ESRCH;
	owner_freeze(tracer, owner);
	tracer->stopping = owner;
	tracer->stopping_gone = false;
	tracer->deadline_ns = clock_now_ns() + STOP_WAIT_NS;
	return LATER;
}

static int do_release(struct tracer *tracer, struct mailbox *mailbox)
{
	struct owner *owner = owner_find(tracer, mailbox->pid);

	if (owner)
		owner_thaw(tracer, owner);
	return owner ? 0 : -ESRCH;
}

static int do_detach(struct tracer *tracer, struct mailbox *mailbox)
{
	(void)mailbox;
	tasks_leave(tracer);
	return 0;
}

static void answer(struct tracer *tracer)
{
	static int (*const requests[])(struct tracer * tracer, struct mailbox * mailbox) = {
		[REQUEST_SEIZE] = do_seize,   [REQUEST_FORGET] = do_forget,
		[REQUEST_PLACE] = do_place,   [REQUEST_CODE] = do_code,
		[REQUEST_GO_ON] = do_go_on,   [REQUEST_LOSSES] = do_losses,
		[REQUEST_WATCH] = do_watch,   [REQUEST_LET_END] = do_let_end,
		[REQUEST_STOP] = do_stop,     [REQUEST_RELEASE] = do_release,
		[REQUEST_DETACH] = do_detach,
	};
	struct mailbox *mailbox = tracer->shared->mailbox;
	int code = -EINVAL;

	_Static_assert(sizeof(requests) / sizeof(requests[0]) == REQUEST_COUNT, "all of them");
	if (mailbox->request < REQUEST_COUNT)
		code = requests[mailbox->request](tracer, mailbox);
	if (code != LATER)
		mailbox_answer(mailbox, tracer->socket, code);
}

/* Replies to the request to stop a process. */
static void answer_stop(struct tracer *tracer)
{
	struct mailbox *mailbox = tracer->shared->mailbox;
	int code = 0;

	if (tracer->stopping_gone) {
		code = -ESRCH;
	} else if (owner_is_stopped(tracer, tracer->stopping)) {
		mailbox->count = registers_write(tracer, tracer->stopping);
	} else if (clock_now_ns() > tracer->deadline_ns) {
		owner_thaw(tracer, tracer->stopping);
		code = -ETIMEDOUT;
	} else {
		return;
	}
	tracer->stopping = NULL;
	mailbox_answer(mailbox, tracer->socket, code);
}

/*
 * The process.
 */

/* Returns true if the command has exited: the socket has no peer. */
static bool is_alone(const struct tracer *tracer)
{
	char byte;
	ssize_t got = recv(tracer->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return !got || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/* Only interrupts waitpid. The reason is looked for afterwards. */
static void woken(int number)
{
	(void)number;
}

/* Sets the timer that interrupts waitpid: often while something must be rechecked. */
static void tick(struct tracer *tracer, bool often)
{
	const struct timeval interval = {.tv_usec = often ? TICK_US : IDLE_TICK_US};
	const struct itimerval timer = {.it_interval = interval, .it_value = interval};

	if (often != tracer->ticks_often)
		setitimer(ITIMER_REAL, &timer, NULL);
	tracer->ticks_often = often;
}

/* Looks for events other than stops. */
static void check_events(struct tracer *tracer)
{
	struct mailbox *mailbox = tracer->shared->mailbox;
	bool orphans;

	if (tracer->stopping)
		answer_stop(tracer);
	else if (mailbox_is_ringing(mailbox))
		answer(tracer);
	if (!tracer->alone && !mailbox_is_ringing(mailbox) && is_alone(tracer)) {
		tracer->alone = true;
		tasks_leave(tracer);
	}
	foreign_uprobes_check(tracer);
	orphans = orphans_check(tracer);
	tick(tracer, tracer->stopping || exit_hold_recheck(tracer) || orphans);
}

/* There are no threads to wait for yet. */
static void wait_for_command(const struct tracer *tracer)
{
	struct pollfd command = {.fd = tracer->socket, .events = POLLIN};

	poll(&command, 1, -1);
}

static void watch(struct tracer *tracer)
{
	uint64_t turns = 0;

	tracer->ticks_often = true;
	tracer->processor = -1;
	tracer->checked_ns = clock_now_ns();
	tick(tracer, false);
	stop_wait_begin(&tracer->wait);
	while (!tracer->detaches || tasks_remain(tracer)) {
		int status;
		pid_t tid = stop_await(&tracer->wait, &status);

		if (tid > 0)
			task_changed(tracer, tid, status);
		else if (errno == ECHILD && !tracer->detaches)
			wait_for_command(tracer);
		if (tid <= 0 || mailbox_is_ringing(tracer->shared->mailbox) || tracer->undecided ||
		    (tracer->has_unannounced && !tracer->ticks_often) || !(++turns % CHECK_TURNS))
			check_events(tracer);
	}
}

/* Only two signals are used: the wake-up signal and the timer's. */
static void signals_prepare(void)
{
	const struct sigaction action = {.sa_handler = woken};
	sigset_t all;

	sigaction(WAKE_SIGNAL, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	signal(SIGCHLD, SIG_DFL);
	sigfillset(&all);
	sigdelset(&all, WAKE_SIGNAL);
	sigdelset(&all, SIGALRM);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, WAKE_SIGNAL, 0, 0, 0);
}

enum kept_fd { KEPT_SOCKET = STDERR_FILENO + 1, KEPT_BELL, KEPT_END };

/* Moves a descriptor out of the way of those that are assigned. Returns -1 on failure. */
static int fd_lift(int fd)
{
	return fd >= KEPT_END ? fd : fcntl(fd, F_DUPFD, KEPT_END);
}

/* Frees descriptors first: the limit (ulimit -n) may already be reached. */
static void close_others(int socket, int bell)
{
	int last = socket > bell ? socket : bell;

	closefrom(last + 1);
	for (int fd = 0; fd < last; fd++)
		if (fd != socket && fd != bell)
			close(fd);
}

/* Keeps only the socket and the bell, after the standard descriptors. Returns false on failure. */
static bool descriptors_keep(int *socket, int *bell)
{
	int null;

	close_others(*socket, *bell);
	*socket = fd_lift(*socket);
	*bell = fd_lift(*bell);
	null = open("/dev/null", O_RDWR);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	*socket = dup2(*socket, KEPT_SOCKET);
	*bell = dup2(*bell, KEPT_BELL);
	closefrom(KEPT_END);
	return *socket >= 0 && *bell >= 0;
}

static _Noreturn void tracer_process_run(struct tracer_process *tracer_process,
					 const struct tracer_process_config *config, int socket)
{
	struct tracer tracer = {
		.config = *config, .shared = &tracer_process->shared, .socket = socket};

	setsid();
	prctl(PR_SET_NAME, TRACER_PROCESS_NAME);
	if (!descriptors_keep(&tracer.socket, &tracer_process->shared.bell) || chdir("/"))
		_exit(EXIT_FAILURE);
	signals_prepare();
	tracer.seen = calloc(SEEN_STACKS, sizeof(*tracer.seen));
	if (!tracer.seen)
		_exit(EXIT_FAILURE);
	watch(&tracer);
	_exit(EXIT_SUCCESS);
}

int tracer_process_start(struct tracer_process *tracer_process,
			 const struct tracer_process_config *config, uint64_t ring_bytes)
{
	int ends[2], err;

	*tracer_process = (struct tracer_process){.socket = -1, .shared.bell = -1};
	err = shared_open(&tracer_process->shared, ring_bytes);
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	tracer_process->pid = fork();
	if (!tracer_process->pid)
		tracer_process_run(tracer_process, config, ends[1]);
	err = tracer_process->pid < 0 ? -errno : 0;
	close(ends[1]);
	tracer_process->socket = ends[0];
	return err;
}

/* Waits for it, but not for long: a thread that sleeps in the kernel may delay it. */
static void reap(pid_t pid)
{
	const struct timespec nap = {.tv_nsec = END_NAP_NS};
	uint64_t since_ns = clock_now_ns();

	while (!waitpid(pid, NULL, WNOHANG) && clock_now_ns() - since_ns < END_WAIT_NS)
		nanosleep(&nap, NULL);
}

void tracer_process_end(struct tracer_process *tracer_process)
{
	if (tracer_process->socket >= 0)
		close(tracer_process->socket);
	if (tracer_process->pid > 0)
		reap(tracer_process->pid);
	shared_close(&tracer_process->shared);
	*tracer_process = (struct tracer_process){.socket = -1, .shared.bell = -1};
}

int tracer_process_ask(struct tracer_process *tracer_process, enum request request, pid_t pid)
{
	int answer;

	if (tracer_process->detached)
		return -ESRCH;
	answer = mailbox_ask(tracer_process->shared.mailbox, tracer_process->socket,
			     tracer_process->pid, request, pid);
	tracer_process->detached = request == REQUEST_DETACH;
	return answer;
}
