/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/exec/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/exec/marks.h"
#include "os/process/proc.h"
#include "os/process/procfs.h"

#define NS_PER_MS 1000000ULL
/* Further execs are allowed at once: if it ran out of descriptors, the kernel would deny them. */
#define PENDING_MAX  512
#define EVENTS_BYTES 1536              /* room for 64 events */
#define FREE_FD      16                /* above the descriptors that the guard assigns */
#define ALIVE_NS     (800 * NS_PER_MS) /* time without a turn of the loop until it is killed */
#define TURN_MS      250
#define PRIORITY     (-20)
#define REAP_NS      NS_PER_MS
#define REAP_TRIES   1000

enum guard_fd { GUARD_SOCKET, GUARD_KEPT, GUARD_FDS };

/* From the guard to the tracer, together with the file. */
struct held_message {
	uint32_t id;
	int32_t pid;
	uint64_t asked_ns;
};

/*
 * The latest execs that were let go without the tracer's permission; each is stored at index id %
 * LET_GO_COUNT. A message could fail because the socket is full, but this is set before the
 * processes run. If a slot holds a higher id, the exec that used the slot before was let go as
 * well.
 */
#define LET_GO_COUNT 4096

struct let_go {
	_Atomic uint32_t id;
	_Atomic uint64_t ns;
};

struct guard_shared {
	_Atomic uint64_t alive_ns; /* last turn of the guard's loop */
	struct let_go let_go[LET_GO_COUNT];
};

/* The guard's first message: whether it started. */
struct start_message {
	int32_t failed; /* 0, or the -errno … */
	int32_t step;   /* … of this step */
};

enum start_step { START_FILES, START_TIMER, START_GROUP, START_MARKS };

union file_message {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* The code that runs in the guard process. */

struct guarded_exec {
	uint32_t id;
	int file;
	uint64_t asked_ns;
};

struct guard {
	const struct exec_guard_config *config;
	struct guard_shared *shared;
	timer_t timer; /* kills the guard when it expires */
	int fanotify;
	int mounts; /* signals changes of the mount table */
	struct guarded_exec pending[PENDING_MAX];
	size_t count;
	uint32_t last_id;
	uint64_t heard_ns; /* last message from the tracer */
	bool deserted;     /* the tracer exceeded the patience and has not sent anything since */
};

/* Records that the guard is alive and restarts the timer. Execs that started to wait after this
 * time have not been let go yet, except those in `let_go`. */
static void stay_alive(const struct guard *guard)
{
	static const struct itimerspec later = {.it_value = {.tv_nsec = ALIVE_NS}};

	atomic_store(&guard->shared->alive_ns, clock_now_ns());
	timer_settime(guard->timer, 0, &later, NULL);
}

static void let_go(const struct guard *guard, int file)
{
	struct fanotify_response response = {.fd = file, .response = FAN_ALLOW};

	/* A failure means that the waiting process was killed: nothing is left to do. */
	while (write(guard->fanotify, &response, sizeof(response)) < 0 && errno == EINTR)
		;
	close(file);
}

static int send_held(const struct held_message *held, int file)
{
	struct iovec part = {(void *)held, sizeof(*held)};
	union file_message control = {.head = {.cmsg_level = SOL_SOCKET,
					       .cmsg_type = SCM_RIGHTS,
					       .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.bytes)};

	memcpy(CMSG_DATA(&control.head), &file, sizeof(file));
	return sendmsg(GUARD_SOCKET, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Asks the tracer. Returns 0, or -errno if there is no point in waiting for an answer. */
static int ask(struct guard *guard, pid_t pid, int file)
{
	struct held_message held = {.id = ++guard->last_id, .pid = pid, .asked_ns = clock_now_ns()};
	int err = guard->deserted || guard->count == PENDING_MAX ? -EBUSY : send_held(&held, file);

	if (!err)
		guard->pending[guard->count++] = (struct guarded_exec){
			.id = held.id, .file = file, .asked_ns = held.asked_ns};
	return err;
}

static void ask_or_release(struct guard *guard, const struct fanotify_event_metadata *event)
{
	const struct exec_guard_config *config = guard->config;
	pid_t pid = event->pid; /* 0 if the process is in a pid namespace that is not below ours */

	if (event->fd < 0)
		return;
	if (!pid || !config->wanted(config->ctx, GUARD_KEPT, pid, event->fd) ||
	    ask(guard, pid, event->fd))
		let_go(guard, event->fd);
}

static void read_events(struct guard *guard)
{
	_Alignas(struct fanotify_event_metadata) char bytes[EVENTS_BYTES];
	const struct fanotify_event_metadata *event = (const void *)bytes;
	ssize_t got = read(guard->fanotify, bytes, sizeof(bytes));

	for (; got > 0 && FAN_EVENT_OK(event, got); event = FAN_EVENT_NEXT(event, got)) {
		ask_or_release(guard, event);
		stay_alive(guard);
	}
}

static void forget(struct guard *guard, size_t i)
{
	let_go(guard, guard->pending[i].file);
	guard->pending[i] = guard->pending[--guard->count];
}

/* An answer allows one exec. If that one was let go before, the answer still shows that the tracer
 * is back. */
static void read_answer(struct guard *guard)
{
	uint32_t id;
	ssize_t got = recv(GUARD_SOCKET, &id, sizeof(id), MSG_DONTWAIT);

	if (!got)
		_exit(0);
	if (got != sizeof(id))
		return;
	guard->deserted = false;
	guard->heard_ns = clock_now_ns();
	for (size_t i = 0; i < guard->count; i++) {
		if (guard->pending[i].id == id) {
			forget(guard, i);
			return;
		}
	}
}

/* Stores the time first: a reader that sees the id then also sees its time. */
static void note_let_go(const struct guard *guard, uint32_t id, uint64_t now_ns)
{
	struct let_go *note = &guard->shared->let_go[id % LET_GO_COUNT];

	atomic_store(&note->ns, now_ns);
	atomic_store(&note->id, id);
}

static uint64_t oldest_ns(const struct guard *guard)
{
	uint64_t oldest = UINT64_MAX;

	for (size_t i = 0; i < guard->count; i++)
		if (guard->pending[i].asked_ns < oldest)
			oldest = guard->pending[i].asked_ns;
	return oldest;
}

/* The time at which the guard stops waiting for the tracer. */
static uint64_t deserted_ns(const struct guard *guard, uint64_t oldest)
{
	return (guard->heard_ns > oldest ? guard->heard_ns : oldest) + guard->config->patience_ns;
}

static void let_go_overdue(struct guard *guard)
{
	uint64_t now_ns = clock_now_ns(), limit_ns = guard->config->limit_ns;

	if (!guard->count)
		return;
	guard->deserted |= deserted_ns(guard, oldest_ns(guard)) <= now_ns;
	for (size_t i = guard->count; i-- > 0;) {
		if (!guard->deserted && guard->pending[i].asked_ns + limit_ns > now_ns)
			continue;
		note_let_go(guard, guard->pending[i].id, now_ns);
		forget(guard, i);
	}
}

/* Milliseconds, rounded up, until the next exec is let go or the loop has to turn. */
static int time_left(const struct guard *guard)
{
	uint64_t now_ns = clock_now_ns(), oldest = oldest_ns(guard), deserted, limit, next, left;

	if (!guard->count)
		return TURN_MS;
	deserted = deserted_ns(guard, oldest);
	limit = oldest + guard->config->limit_ns;
	next = deserted < limit ? deserted : limit;
	left = next <= now_ns ? 0 : (next - now_ns) / NS_PER_MS + 1;
	return left < TURN_MS ? (int)left : TURN_MS;
}

static _Noreturn void serve(struct guard *guard)
{
	struct pollfd fds[] = {{.fd = GUARD_SOCKET, .events = POLLIN},
			       {.fd = guard->fanotify, .events = POLLIN},
			       {.fd = guard->mounts, .events = POLLPRI}};

	for (;;) {
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), time_left(guard)) < 0)
			continue;
		stay_alive(guard);
		if (fds[0].revents)
			read_answer(guard);
		let_go_overdue(guard);
		if (fds[1].revents)
			read_events(guard);
		if (fds[2].revents & POLLPRI)
			(void)exec_marks_place(guard->fanotify);
	}
}

/* Closes all inherited descriptors except the two that are needed. Returns 0, or -errno without
 * having closed any. */
static int close_others(int socket, int kept)
{
	int fds[GUARD_FDS] = {fcntl(socket, F_DUPFD, FREE_FD), fcntl(kept, F_DUPFD, FREE_FD)};

	for (int fd = 0; fd < GUARD_FDS; fd++)
		if (fds[fd] < 0)
			return -errno;
	for (int fd = 0; fd < GUARD_FDS; fd++)
		dup2(fds[fd], fd);
	close_range(GUARD_FDS, ~0U, 0);
	return 0;
}

static int timer_open(struct guard *guard)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};

	if (timer_create(CLOCK_MONOTONIC, &event, &guard->timer))
		return -errno;
	stay_alive(guard);
	return 0;
}

/* Starts the timer before the fanotify group exists, so that no exec can wait without it. */
static struct start_message guard_open(struct guard *guard)
{
	int err = timer_open(guard);

	if (err)
		return (struct start_message){err, START_TIMER};
	/* With a limited queue, the kernel would allow execs that overflow it. */
	guard->fanotify =
		fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE,
			      O_RDONLY | O_LARGEFILE | O_CLOEXEC);
	if (guard->fanotify < 0)
		return (struct start_message){-errno, START_GROUP};
	guard->mounts = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC);
	err = guard->mounts < 0 ? -errno : exec_marks_place(guard->fanotify);
	return (struct start_message){err, START_MARKS};
}

/* The guard runs in its own session, so that the terminal can neither stop it (^Z) nor kill it
 * before the tracer. */
static _Noreturn void guard_run(const struct exec_guard_config *config, int socket,
				struct guard_shared *shared, pid_t tracer)
{
	static struct guard guard;
	struct start_message start;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != tracer)
		_exit(1);
	setsid();
	(void)setpriority(PRIO_PROCESS, 0, PRIORITY);
	start = (struct start_message){close_others(socket, config->kept), START_FILES};
	if (!start.failed) {
		socket = GUARD_SOCKET;
		guard.config = config;
		guard.shared = shared;
		start = guard_open(&guard);
	}
	if (send(socket, &start, sizeof(start), MSG_NOSIGNAL) != sizeof(start) || start.failed)
		_exit(1);
	serve(&guard);
}

/* The code that runs in the tracer. */

static const char *const step_failures[] = {
	[START_FILES] = "cannot duplicate file descriptors",
	[START_TIMER] = "cannot create a timer",
	[START_GROUP] = "cannot create a fanotify group",
	[START_MARKS] = "cannot watch the file systems",
};

static int start_explain(const struct start_message *start, struct error *err)
{
	if (start->failed == -EPERM)
		return error_set(err, start->failed,
				 "--hold-exec: Operation not permitted (needs root, or "
				 "CAP_SYS_ADMIN in the initial user namespace)");
	if ((start->failed == -ENOSYS && start->step == START_GROUP) ||
	    (start->failed == -EINVAL && start->step == START_MARKS))
		return error_set(err, start->failed,
				 "--hold-exec: this kernel cannot hold programs at exec (needs "
				 "Linux 5.0 with CONFIG_FANOTIFY_ACCESS_PERMISSIONS)");
	return error_set_errno(err, start->failed, "--hold-exec: %s", step_failures[start->step]);
}

static int wait_started(struct exec_guard *guard, struct error *err)
{
	struct start_message start;
	ssize_t got;

	do {
		got = recv(guard->socket, &start, sizeof(start), 0);
	} while (got < 0 && errno == EINTR);
	if (got != sizeof(start))
		return error_set(err, -ECHILD, "--hold-exec: the exec guard was killed");
	return start.failed ? start_explain(&start, err) : 0;
}

static void shared_free(const struct exec_guard *guard)
{
	munmap(guard->shared, sizeof(*guard->shared));
}

int exec_guard_start(struct exec_guard *ret_guard, const struct exec_guard_config *config,
		     struct error *err)
{
	struct exec_guard guard;
	pid_t tracer = getpid();
	int sockets[2], code;

	guard.shared = mmap(NULL, sizeof(*guard.shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (guard.shared == MAP_FAILED)
		return error_set_errno(err, -errno, "--hold-exec: cannot share memory");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		code = -errno;
		shared_free(&guard);
		return error_set_errno(err, code, "--hold-exec: cannot create a socket");
	}
	guard.socket = sockets[0];
	guard.pid = fork();
	if (!guard.pid)
		guard_run(config, sockets[1], guard.shared, tracer);
	close(sockets[1]);
	if (guard.pid < 0) {
		close(sockets[0]);
		shared_free(&guard);
		return error_set_errno(err, -errno, "--hold-exec: cannot start the exec guard");
	}
	code = wait_started(&guard, err);
	if (code)
		exec_guard_stop(&guard);
	else
		*ret_guard = guard;
	return code;
}

/* If the guard exits before it has read all answers, the first recvmsg fails with ECONNRESET.
 * Messages that it sent earlier can still be read after that. */
static ssize_t receive(const struct exec_guard *guard, struct msghdr *message)
{
	static const int flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
	ssize_t got = recvmsg(guard->socket, message, flags);

	return got < 0 && errno == ECONNRESET ? recvmsg(guard->socket, message, flags) : got;
}

int exec_guard_take(const struct exec_guard *guard, struct held_exec *ret_held)
{
	struct held_message held;
	struct iovec part = {&held, sizeof(held)};
	union file_message control;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t got = receive(guard, &message);
	const struct cmsghdr *file = CMSG_FIRSTHDR(&message);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (got != sizeof(held) || !file || file->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EPIPE;
	*ret_held = (struct held_exec){.id = held.id, .pid = held.pid, .asked_ns = held.asked_ns};
	memcpy(&ret_held->file, CMSG_DATA(file), sizeof(ret_held->file));
	return 1;
}

/* An exiting process releases its memory, and this link with it, before it closes its files. So
 * while the link exists, the guard's exit has not let any exec go. */
static bool is_alive(const struct exec_guard *guard)
{
	char *program;

	if (procfs_read_link(guard->pid, "exe", &program))
		return false;
	free(program);
	return true;
}

/* The guard exited at an unknown time after its last turn; this is the earliest possible time. */
static uint64_t exit_let_go_ns(const struct exec_guard *guard, const struct held_exec *held)
{
	uint64_t alive_ns = atomic_load(&guard->shared->alive_ns);

	return alive_ns > held->asked_ns ? alive_ns : held->asked_ns;
}

uint64_t exec_guard_let_go_ns(const struct exec_guard *guard, const struct held_exec *held)
{
	const struct let_go *note = &guard->shared->let_go[held->id % LET_GO_COUNT];
	bool alive = is_alive(guard);
	uint32_t id = atomic_load(&note->id);

	if (id == held->id)
		return atomic_load(&note->ns);
	if (id > held->id)
		return held->asked_ns;
	return alive ? UINT64_MAX : exit_let_go_ns(guard, held);
}

void exec_guard_allow(const struct exec_guard *guard, struct held_exec *held)
{
	(void)send(guard->socket, &held->id, sizeof(held->id), MSG_NOSIGNAL);
	close(held->file);
	held->file = -1;
}

/* Does not block in waitpid: if a debugger traces the guard, waitpid returns only after the
 * debugger has collected the exit status. */
static void reap(pid_t pid)
{
	static const struct timespec pause = {.tv_nsec = REAP_NS};

	for (int i = 0; i < REAP_TRIES && !waitpid(pid, NULL, WNOHANG); i++)
		nanosleep(&pause, NULL);
}

void exec_guard_stop(struct exec_guard *guard)
{
	if (!guard->pid)
		return;
	kill(guard->pid, SIGKILL);
	reap(guard->pid);
	close(guard->socket);
	shared_free(guard);
	*guard = (struct exec_guard){0};
}
