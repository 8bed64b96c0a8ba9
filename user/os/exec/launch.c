/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two channels connect us to the child. The child waits on `hold` for the byte that releases it;
 * end of file there means that we are gone. On `status`, it reports that it is ready, or which step
 * failed and why; end of file there means that exec closed it, so exec succeeded. Both are
 * close-on-exec.
 *
 * Between fork and exec, the child calls only async-signal-safe functions. Everything that
 * allocates memory or looks something up is done before the fork.
 */
#include "os/exec/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/account/account.h"
#include "os/exec/program_path.h"

#define FIRST_OWN_FD 3 /* after standard input, output and error */
#define REAP_POLL_NS 100000

enum child_step { CHILD_READY, CHILD_USER, CHILD_DIRECTORY, CHILD_EXEC, CHILD_STEPS };

struct child_report {
	enum child_step step;
	int error; /* errno */
};

/* Everything that the child needs. */
struct child {
	const struct launch_options *options;
	const struct launch *launch;
	char *path; /* for execve; relative to the directory if argv[0] or PATH is relative */
	struct account account;
	sigset_t mask;
	int hold;
	int status;
};

static void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* If we were started with standard input closed, a new descriptor would take its place. */
static int fd_raise(int *fd)
{
	int raised;

	if (*fd >= FIRST_OWN_FD)
		return 0;
	raised = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
	if (raised < 0)
		return -errno;
	close(*fd);
	*fd = raised;
	return 0;
}

/* Uses a socket pair instead of a pipe: MSG_NOSIGNAL avoids SIGPIPE. */
static int channel_open(int ends[2])
{
	int err = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	for (int i = 0; i < 2 && !err; i++)
		err = fd_raise(&ends[i]);
	if (err) {
		fd_close(&ends[0]);
		fd_close(&ends[1]);
	}
	return err;
}

/* Returns the number of bytes read before end of file, or -errno. */
static ssize_t fd_read_all(int fd, void *buffer, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = read(fd, (char *)buffer + done, size - done);

		if (!got)
			break;
		if (got > 0)
			done += (size_t)got;
		else if (errno != EINTR)
			return -errno;
	}
	return (ssize_t)done;
}

static void child_report(const struct child *child, enum child_step step, int error)
{
	struct child_report report = {step, error};

	send(child->status, &report, sizeof(report), MSG_NOSIGNAL);
}

static _Noreturn void child_fail(const struct child *child, enum child_step step, int error)
{
	child_report(child, step, error);
	_exit(LAUNCH_FAILED);
}

/* exec resets signal handlers, but keeps ignored signals and the mask. */
static void child_reset_signals(const struct child *child)
{
	for (int number = 1; number < NSIG; number++)
		if (child->options->ignored && !sigismember(child->options->ignored, number))
			signal(number, SIG_DFL);
	sigprocmask(SIG_SETMASK, &child->mask, NULL);
}

static void child_go_to_background(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	if (fd > STDIN_FILENO) {
		dup2(fd, STDIN_FILENO);
		close(fd);
	}
}

static void child_prepare(const struct child *child)
{
	const struct launch_options *options = child->options;
	int err = 0;

	/* Close the parent's ends of the channels, or the child would never see them close. */
	close(child->launch->hold);
	close(child->launch->status);
	child_reset_signals(child);
	if (options->background)
		child_go_to_background();
	/* With Yama, a tracer must be an ancestor unless the child allows others; our ptracing
	 * process may not be one. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	if (options->user)
		err = account_become(&child->account);
	if (err)
		child_fail(child, CHILD_USER, -err);
	if (options->directory && chdir(options->directory))
		child_fail(child, CHILD_DIRECTORY, errno);
	child_report(child, CHILD_READY, 0);
}

static _Noreturn void child_run(const struct child *child)
{
	char go;

	child_prepare(child);
	if (fd_read_all(child->hold, &go, 1) != 1)
		_exit(LAUNCH_FAILED);
	execve(child->path, child->options->argv, environ);
	child_fail(child, CHILD_EXEC, errno);
}

/* Forks with all signals blocked: the child must not run the parent's handlers. */
static int child_fork(struct child *child, struct launch *launch)
{
	sigset_t all, mask;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	child->mask = child->options->mask ? *child->options->mask : mask;
	launch->pid = fork();
	if (!launch->pid)
		child_run(child);
	if (launch->pid < 0)
		err = -errno;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return err;
}

/* Opens the channels and forks. Stores the parent's ends in `launch`. */
static int child_start(struct child *child, struct launch *launch)
{
	int hold[2] = {-1, -1};
	int status[2] = {-1, -1};
	int err = channel_open(hold);

	if (!err)
		err = channel_open(status);
	child->launch = launch;
	launch->hold = hold[0];
	launch->status = status[0];
	child->hold = hold[1];
	child->status = status[1];
	if (!err)
		err = child_fork(child, launch);
	fd_close(&child->hold);
	fd_close(&child->status);
	return err;
}

bool launch_ended(const struct launch *launch, int *ret_status)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)launch->pid, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid ||
	    (info.si_code != CLD_EXITED && info.si_code != CLD_KILLED &&
	     info.si_code != CLD_DUMPED))
		return false;
	return waitpid(launch->pid, ret_status, WNOHANG) == launch->pid;
}

static void launch_reap(struct launch *launch)
{
	const struct timespec pause = {.tv_nsec = REAP_POLL_NS};
	siginfo_t info;
	int status;

	while (launch->pid > 0 && !launch_ended(launch, &status) &&
	       (!waitid(P_PID, (id_t)launch->pid, &info, WEXITED | WNOWAIT) || errno == EINTR))
		nanosleep(&pause, NULL);
	launch->pid = -1;
}

static int exec_exit_status(int error)
{
	return error == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE;
}

/* Converts the report of a failed child to a message. Returns -errno. */
static int report_explain(const struct child_report *report, const struct launch *launch,
			  int *ret_exit, struct error *err)
{
	static const char *const words[] = {
		[CHILD_READY] = "started: %s",
		[CHILD_USER] = "cannot change the user for %s",
		[CHILD_DIRECTORY] = "cannot change to the working directory for %s",
		[CHILD_EXEC] = "cannot execute %s",
	};

	_Static_assert(sizeof(words) / sizeof(words[0]) == CHILD_STEPS, "words for every step");
	*ret_exit = report->step == CHILD_EXEC ? exec_exit_status(report->error) : LAUNCH_FAILED;
	return error_set_errno(err, -report->error, words[report->step], launch->program);
}

/* Waits until the child reports success or failure. End of file without a report means that it was
 * killed. */
static int launch_wait_ready(struct launch *launch, int *ret_exit, struct error *err)
{
	struct child_report report;

	if (fd_read_all(launch->status, &report, sizeof(report)) != sizeof(report)) {
		*ret_exit = LAUNCH_FAILED;
		return error_set(err, -ECHILD, "%s was killed before it started", launch->program);
	}
	if (report.step == CHILD_READY)
		return 0;
	return report_explain(&report, launch, ret_exit, err);
}

static int find_account(const struct launch_options *options, struct child *child, int *ret_exit,
			struct error *err)
{
	int code = options->user ? account_find(options->user, &child->account) : 0;

	if (!code)
		return 0;
	*ret_exit = LAUNCH_FAILED;
	if (code == -ENOENT)
		return error_set(err, code, "no such user: %s", options->user);
	return error_set_errno(err, code, "cannot look up user %s", options->user);
}

static int check_directory(const struct launch_options *options, int *ret_exit, struct error *err)
{
	int fd;

	if (!options->directory)
		return 0;
	fd = open(options->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		*ret_exit = LAUNCH_FAILED;
		return error_set_errno(err, -errno, "cannot change to directory %s",
				       options->directory);
	}
	close(fd);
	return 0;
}

static int find_program(const struct launch_options *options, struct child *child,
			struct launch *launch, int *ret_exit, struct error *err)
{
	const char *name = options->argv[0];
	int code = name ? program_find(name, options->directory, &child->path) : -EINVAL;

	if (!code)
		code = program_absolute(child->path, options->directory, &launch->program);
	if (!code)
		return 0;
	*ret_exit = exec_exit_status(-code);
	return error_set_errno(err, code, "cannot execute %s", name ? name : "nothing");
}

static int child_find_all(const struct launch_options *options, struct child *child,
			  struct launch *launch, int *ret_exit, struct error *err)
{
	int code = find_account(options, child, ret_exit, err);

	if (!code)
		code = check_directory(options, ret_exit, err);
	return code ? code : find_program(options, child, launch, ret_exit, err);
}

int launch_hold(const struct launch_options *options, struct launch *ret_launch, int *ret_exit,
		struct error *err)
{
	struct launch launch = {.pid = -1, .hold = -1, .status = -1};
	struct child child = {.options = options};
	int code = child_find_all(options, &child, &launch, ret_exit, err);

	if (!code) {
		code = child_start(&child, &launch);
		if (code) {
			*ret_exit = LAUNCH_FAILED;
			error_set_errno(err, code, "cannot start %s", launch.program);
		}
	}
	if (!code)
		code = launch_wait_ready(&launch, ret_exit, err);
	free(child.path);
	account_free(&child.account);
	if (code)
		launch_abandon(&launch);
	else
		*ret_launch = launch;
	return code;
}

/* MSG_NOSIGNAL: the child may have been killed in the meantime. */
void launch_release(struct launch *launch)
{
	send(launch->hold, "", 1, MSG_NOSIGNAL);
}

/* A child that was killed reports nothing. This looks like a kill right after exec, and the wait
 * status will show it. */
int launch_confirm(struct launch *launch, int *ret_exit, struct error *err)
{
	struct child_report report;
	ssize_t got;
	int code;

	got = fd_read_all(launch->status, &report, sizeof(report));
	fd_close(&launch->hold);
	fd_close(&launch->status);
	if (got != sizeof(report))
		return 0;
	code = report_explain(&report, launch, ret_exit, err);
	launch_reap(launch);
	return code;
}

void launch_abandon(struct launch *launch)
{
	if (launch->pid > 0 && launch->hold >= 0) {
		kill(launch->pid, SIGKILL);
		launch_reap(launch);
	}
	launch_close(launch);
}

void launch_close(struct launch *launch)
{
	/* Takes effect even if another held child has inherited a copy of the descriptor. */
	if (launch->hold >= 0)
		shutdown(launch->hold, SHUT_RDWR);
	fd_close(&launch->hold);
	fd_close(&launch->status);
	free(launch->program);
	launch->program = NULL;
}
