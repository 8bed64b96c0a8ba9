// SPDX-License-Identifier: GPL-2.0-or-later
#include "os/process/probe_closer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME        "mtrace-closer"
#define STACK_SIZE  65536 /* the process has a copy of our memory, except for the stack */
#define CLOSERS     16    /* the kernel sleeps for 20 to 100 ms per probe; they all sleep at once */
#define REQUEST_FDS 1024
/* Interval of checks that the process is alive: there is no EOF, because we have both ends open. */
#define LIFE_MS      100
#define STATUS_SIZE  4096
#define TABLE_SIZE   "\nFDSize:\t"
#define TABLE_COMMON 1024 /* number of descriptors to assume if the kernel does not tell */

struct close_request {
	size_t count;
	bool in_order;
	bool unanswered;      /* used by our side only */
	int fds[REQUEST_FDS]; /* -1: some process has taken it and closes it */
};

/* The part that one of several closers handles: every CLOSERS-th descriptor. */
struct fd_share {
	int *fds; /* NULL: close the numbers themselves */
	size_t first, count;
};

/* Takes the descriptor atomically: if the closer process is killed, its children and we continue,
 * and nothing is closed twice. */
static void close_taken(int *fd)
{
	int taken = __atomic_exchange_n(fd, -1, __ATOMIC_RELAXED);

	if (taken >= 0)
		close(taken);
}

static int close_share(void *ctx)
{
	const struct fd_share *share = ctx;

	for (size_t i = share->first; i < share->count; i += CLOSERS)
		if (share->fds)
			close_taken(&share->fds[i]);
		else
			close((int)i);
	return 0;
}

/* Uses processes that share descriptors but not memory. Threads are not safe here, because this
 * process is a copy of one that may have had threads. */
static void close_shares(int *fds, size_t count)
{
	alignas(16) static char stack[STACK_SIZE];
	struct fd_share share = {.fds = fds, .count = count};

	for (; share.first + 1 < CLOSERS && share.first + 1 < count; share.first++)
		if (clone(close_share, stack + STACK_SIZE, CLONE_FILES, &share) < 0)
			close_share(&share);
	close_share(&share);
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
}

static void close_in_order(struct close_request *request)
{
	for (size_t i = 0; i < request->count; i++)
		close_taken(&request->fds[i]);
}

/* Calls no function that takes a lock, including malloc: the thread that held the lock does not
 * exist in this process. */
static size_t table_size(void)
{
	char status[STATUS_SIZE];
	const char *found;
	ssize_t length = -1;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		length = read(fd, status, sizeof(status) - 1);
		close(fd);
	}
	status[length > 0 ? length : 0] = '\0';
	found = strstr(status, TABLE_SIZE);
	return found ? strtoul(found + strlen(TABLE_SIZE), NULL, 10) : TABLE_COMMON;
}

/* The code that runs in the closer process. */

/* An empty handler: the signal only interrupts ppoll. */
static void woken(int number)
{
	(void)number;
}

/* Waits for a request. Returns false once the owner has exited. The signal of its death is
 * unblocked only in ppoll, so it cannot be missed. Others may send the same signal, so check the
 * parent each time. */
static bool await_request(pid_t owner, int socket)
{
	struct pollfd request = {.fd = socket, .events = POLLIN};
	sigset_t others;
	char byte;

	sigfillset(&others);
	sigdelset(&others, SIGTERM);
	while (getppid() == owner)
		if (ppoll(&request, 1, NULL, &others) > 0)
			return recv(socket, &byte, 1, 0) == 1;
	return false;
}

static int run(void *ctx)
{
	const struct probe_closer *probe_closer = ctx;
	struct close_request *request = probe_closer->request;
	const struct sigaction action = {.sa_handler = woken};

	setsid();
	prctl(PR_SET_NAME, NAME, 0, 0, 0);
	sigaction(SIGTERM, &action, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
	while (await_request(probe_closer->owner, probe_closer->its_socket)) {
		if (request->in_order)
			close_in_order(request);
		else
			close_shares(request->fds, request->count);
		send(probe_closer->its_socket, "", 1, MSG_NOSIGNAL);
	}
	close_shares(NULL, table_size());
	return 0;
}

/* Starts the process with all signals blocked; it unblocks only SIGTERM. It has no exit signal,
 * because its exit needs no handling. */
static pid_t spawn(struct probe_closer *probe_closer)
{
	alignas(16) static char stack[STACK_SIZE];
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = clone(run, stack + STACK_SIZE, CLONE_FILES, probe_closer);
	pid = pid < 0 ? -errno : pid;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* The code that runs in our process. */

static int probe_closer_open(struct probe_closer *probe_closer)
{
	int ends[2];

	probe_closer->request = mmap(NULL, sizeof(*probe_closer->request), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (probe_closer->request == MAP_FAILED)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		munmap(probe_closer->request, sizeof(*probe_closer->request));
		return -errno;
	}
	probe_closer->socket = ends[0];
	probe_closer->its_socket = ends[1];
	return 0;
}

int probe_closer_start(struct probe_closer *ret_probe_closer)
{
	struct probe_closer probe_closer = {.owner = getpid()};
	int err = probe_closer_open(&probe_closer);

	if (err)
		return err;
	probe_closer.pid = spawn(&probe_closer);
	*ret_probe_closer = probe_closer;
	if (probe_closer.pid > 0)
		return 0;
	probe_closer_end(ret_probe_closer);
	return probe_closer.pid;
}

/* Returns false if the process was killed. Does not reap it, so that its pid is not reused. */
static bool lives(const struct probe_closer *probe_closer)
{
	siginfo_t info = {0};

	return !waitid(P_PID, (id_t)probe_closer->pid, &info,
		       WEXITED | WNOHANG | WNOWAIT | __WALL) &&
	       !info.si_pid;
}

static void close_ourselves(struct close_request *request)
{
	close_in_order(request);
	request->unanswered = false;
}

/* Returns true if the last request is done. If the process is dead, finishes the request here. */
static bool is_settled(const struct probe_closer *probe_closer, int wait_ms)
{
	struct pollfd answer = {.fd = probe_closer->socket, .events = POLLIN};
	struct close_request *request = probe_closer->request;
	char byte;

	if (!request->unanswered)
		return true;
	if (poll(&answer, 1, wait_ms) > 0 && recv(probe_closer->socket, &byte, 1, 0) == 1)
		request->unanswered = false;
	else if (!lives(probe_closer))
		close_ourselves(request);
	return !request->unanswered;
}

static void settle(const struct probe_closer *probe_closer)
{
	while (!is_settled(probe_closer, LIFE_MS))
		;
}

/* Sends a request. Returns the number of descriptors that it contains. */
static size_t post(const struct probe_closer *probe_closer, const int *fds, size_t count,
		   bool in_order)
{
	struct close_request *request = probe_closer->request;

	request->count = count < REQUEST_FDS ? count : REQUEST_FDS;
	request->in_order = in_order;
	memcpy(request->fds, fds, request->count * sizeof(*fds));
	request->unanswered = true;
	if (!lives(probe_closer) || send(probe_closer->socket, "", 1, MSG_NOSIGNAL) != 1)
		close_ourselves(request);
	return request->count;
}

void probe_closer_close(const struct probe_closer *probe_closer, const int *fds, size_t count,
			bool in_order)
{
	size_t taken;

	for (; count; fds += taken, count -= taken) {
		settle(probe_closer);
		taken = post(probe_closer, fds, count, in_order);
		settle(probe_closer);
	}
}

size_t probe_closer_begin_close(const struct probe_closer *probe_closer, const int *fds,
				size_t count)
{
	return is_settled(probe_closer, 0) ? post(probe_closer, fds, count, false) : 0;
}

void probe_closer_end(struct probe_closer *probe_closer)
{
	if (!probe_closer->request)
		return;
	settle(probe_closer);
	if (probe_closer->pid > 0)
		kill(probe_closer->pid, SIGKILL);
	while (probe_closer->pid > 0 && waitpid(probe_closer->pid, NULL, __WALL) < 0 &&
	       errno == EINTR)
		;
	close(probe_closer->socket);
	close(probe_closer->its_socket);
	munmap(probe_closer->request, sizeof(*probe_closer->request));
	*probe_closer = (struct probe_closer){0};
}
