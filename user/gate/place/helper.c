// SPDX-License-Identifier: GPL-2.0-or-later
#include "gate/place/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME     "mtrace-gate"
#define PRIORITY (-20)

enum { KEPT_PIPE = STDERR_FILENO + 1, KEPT_END };

/* The code that runs in the helper. */

/* Frees descriptors first: the limit (ulimit -n) may already be reached. Returns false on failure.
 */
static bool descriptors_keep(int pipe_end)
{
	int null;

	closefrom(pipe_end + 1);
	for (int fd = 0; fd < pipe_end; fd++)
		close(fd);
	pipe_end = pipe_end >= KEPT_END ? pipe_end : fcntl(pipe_end, F_DUPFD, KEPT_END);
	null = open("/dev/null", O_RDWR);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	pipe_end = dup2(pipe_end, KEPT_PIPE);
	closefrom(KEPT_END);
	return pipe_end == KEPT_PIPE && fcntl(KEPT_PIPE, F_SETFD, FD_CLOEXEC) == 0;
}

static void escape_oom_killer(void)
{
	static const char least[] = "-1000";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, least, sizeof(least) - 1) < 0)
		errno = 0; /* needs CAP_SYS_RESOURCE */
	close(fd);
}

/* While it waits for a processor, the threads that it has stopped wait too. A busy process is
 * stopped for a quarter of the time if the helper has real-time priority (needs CAP_SYS_NICE). */
static void escape_waiting(void)
{
	const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};

	if (sched_setscheduler(0, SCHED_RR, &lowest))
		(void)setpriority(PRIO_PROCESS, 0, PRIORITY);
}

/* The tracer may be dead when it writes: SIGPIPE is blocked. */
static _Noreturn void helper_main(void (*run)(const void *context, void *ret_reply),
				  const void *context, void *reply, size_t size, int pipe_end)
{
	setsid();
	prctl(PR_SET_NAME, NAME);
	escape_waiting();
	escape_oom_killer();
	if (!descriptors_keep(pipe_end) || chdir("/"))
		_exit(1);
	run(context, reply);
	_exit(write(KEPT_PIPE, reply, size) == (ssize_t)size ? 0 : 1);
}

/* The code that runs in the tracer. */

/* The helper inherits the blocked signals. */
static pid_t fork_blocking_signals(void)
{
	sigset_t all, before;
	pid_t pid;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	code = errno;
	if (pid)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? -code : pid;
}

/* A write of at most PIPE_BUF bytes is atomic, so it is read in one piece. */
static int await_reply(int pipe_end, void *ret_reply, size_t size)
{
	ssize_t got;

	do
		got = read(pipe_end, ret_reply, size);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)size ? 0 : -EIO;
}

int gate_helper_run(void (*run)(const void *context, void *ret_reply), const void *context,
		    void *ret_reply, size_t size)
{
	int ends[2], err;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork_blocking_signals();
	if (!pid)
		helper_main(run, context, ret_reply, size, ends[1]);
	close(ends[1]);
	err = pid < 0 ? pid : await_reply(ends[0], ret_reply, size);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err;
}
