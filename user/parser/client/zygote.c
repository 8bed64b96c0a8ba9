// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/client/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "parser/server/sandbox.h"
#include "parser/wire/channel.h"
#include "parser/wire/protocol.h"

#define PATIENCE_NS 1000000000ULL

#ifdef __SANITIZE_ADDRESS__
#define KEEP_STANDARD_ERROR true /* for its reports */
#else
#define KEEP_STANDARD_ERROR false
#endif

/* The zygote's own state. */
struct nursery {
	int control;
	int signals; /* SIGCHLD */
	pid_t parser;
	zygote_work *work;
	struct error refused; /* code 0 if privileges were dropped */
};

/* Closes all descriptors except one, which becomes the first after the standard ones. */
static int descriptors_keep(int fd)
{
	const int kept = STDERR_FILENO + 1;
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (!KEEP_STANDARD_ERROR)
		dup2(null, STDERR_FILENO);
	if (fd != kept)
		dup2(fd, kept);
	closefrom(kept + 1);
	fcntl(kept, F_SETFD, FD_CLOEXEC);
	return kept;
}

/* Ignores terminal signals and SIGTERM sent to the process group: the tracer handles them. */
static void signals_prepare(void)
{
	static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGTSTP, SIGTTIN,
				      SIGTTOU, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM};
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Must be called after a change of user, which resets the death signal. */
static void end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
}

/* The parser process. */

static _Noreturn void parser_run(const struct nursery *nursery, int socket, pid_t zygote)
{
	struct wire words = {0};
	struct error err;
	sigset_t none;

	end_with(zygote);
	socket = descriptors_keep(socket);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!sandbox_confine(&err)) {
		channel_send(socket, FRAME_READY, NULL, -1, CHANNEL_FOREVER);
		nursery->work(socket);
		_exit(EXIT_SUCCESS);
	}
	failure_put(&words, &err);
	channel_send(socket, FRAME_FAILED, &words, -1, CHANNEL_FOREVER);
	_exit(EXIT_FAILURE);
}

static int parser_fork(struct nursery *nursery, int *ret_socket)
{
	pid_t zygote = getpid();
	int ends[2], err = channel_open(ends);

	if (err)
		return err;
	nursery->parser = fork();
	if (!nursery->parser)
		parser_run(nursery, ends[1], zygote);
	close(ends[1]);
	if (nursery->parser > 0) {
		*ret_socket = ends[0];
		return 0;
	}
	err = -errno;
	nursery->parser = 0;
	close(ends[0]);
	return err;
}

static void parser_end(struct nursery *nursery)
{
	if (!nursery->parser)
		return;
	kill(nursery->parser, SIGKILL);
	while (waitpid(nursery->parser, NULL, 0) < 0 && errno == EINTR)
		;
	nursery->parser = 0;
}

/* Reaps a parser that has exited. The tracer notices the exit by its socket. */
static void parser_reap(struct nursery *nursery)
{
	struct signalfd_siginfo info;

	if (read(nursery->signals, &info, sizeof(info)) < 0)
		return;
	if (nursery->parser && waitpid(nursery->parser, NULL, WNOHANG) == nursery->parser)
		nursery->parser = 0;
}

/* The zygote process. */

static int refuse(const struct nursery *nursery, const struct error *err)
{
	struct wire words = {0};
	int code;

	failure_put(&words, err);
	code = channel_send(nursery->control, FRAME_FAILED, &words, -1, CHANNEL_FOREVER);
	wire_free(&words);
	return code;
}

static int spawn(struct nursery *nursery)
{
	struct wire pid = {0};
	struct error err;
	int socket = -1, code;

	parser_end(nursery);
	if (nursery->refused.code)
		return refuse(nursery, &nursery->refused);
	code = parser_fork(nursery, &socket);
	if (code) {
		error_set_errno(&err, code, "cannot fork");
		return refuse(nursery, &err);
	}
	wire_put_u32(&pid, (uint32_t)nursery->parser);
	code = channel_send(nursery->control, FRAME_READY, &pid, socket, CHANNEL_FOREVER);
	wire_free(&pid);
	close(socket);
	return code;
}

static int serve_wish(struct nursery *nursery)
{
	struct frame frame;
	int err = channel_receive(nursery->control, 0, CHANNEL_FOREVER, &frame);

	if (err)
		return err;
	frame_free(&frame);
	return spawn(nursery);
}

static void keep(struct nursery *nursery)
{
	struct pollfd polled[] = {{.fd = nursery->control, .events = POLLIN},
				  {.fd = nursery->signals, .events = POLLIN}};
	int err = 0;

	while (!err) {
		if (poll(polled, 2, -1) < 0)
			continue; /* interrupted by stop and continue */
		if (polled[1].revents)
			parser_reap(nursery);
		if (polled[0].revents)
			err = serve_wish(nursery);
	}
}

static _Noreturn void zygote_run(int control, zygote_work *work, pid_t tracer)
{
	struct nursery nursery = {.work = work};
	sigset_t child;

	signals_prepare();
	nursery.control = descriptors_keep(control);
	sandbox_leave(&nursery.refused);
	end_with(tracer);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	nursery.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	keep(&nursery);
	parser_end(&nursery);
	_exit(EXIT_SUCCESS);
}

/* The tracer's side. */

/* Forks with all signals blocked: the child must not run the tracer's handlers. */
int zygote_start(struct zygote *ret_zygote, zygote_work *work)
{
	pid_t tracer = getpid(), pid;
	sigset_t all, mask;
	int ends[2], err = channel_open(ends);

	if (err)
		return err;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	pid = fork();
	if (!pid)
		zygote_run(ends[1], work, tracer);
	err = pid < 0 ? -errno : 0;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	close(ends[1]);
	if (err)
		close(ends[0]);
	else
		*ret_zygote = (struct zygote){.pid = pid, .control = ends[0]};
	return err;
}

int zygote_ask(const struct zygote *zygote)
{
	return channel_send(zygote->control, FRAME_SPAWN, NULL, -1, CHANNEL_FOREVER);
}

static int take_answer(struct frame *frame, int *ret_socket, pid_t *ret_pid, struct error *err)
{
	struct wire_view view = wire_view(&frame->body);
	pid_t pid;

	if (frame->kind == FRAME_FAILED && !failure_take(&view, err))
		return err->code;
	pid = (pid_t)wire_take_u32_max(&view, INT32_MAX);
	if (frame->kind != FRAME_READY || wire_finish(&view) || frame->fd < 0)
		return error_set_errno(err, -EBADMSG, "cannot start the file parser");
	*ret_pid = pid;
	*ret_socket = frame->fd;
	frame->fd = -1;
	return 0;
}

int zygote_take(const struct zygote *zygote, uint64_t deadline_ns, int *ret_socket, pid_t *ret_pid,
		struct error *err)
{
	struct frame frame;
	int code = channel_receive(zygote->control, ERROR_TEXT_SIZE * 2, deadline_ns, &frame);

	if (code)
		return error_set_errno(err, code, "cannot start the file parser");
	code = take_answer(&frame, ret_socket, ret_pid, err);
	frame_free(&frame);
	return code;
}

/* After the end of the requests, the zygote kills its parser and exits. If it does not, we kill it,
 * and the kernel kills the parser when its parent dies. */
void zygote_stop(struct zygote *zygote)
{
	struct frame frame;

	if (!zygote->pid)
		return;
	shutdown(zygote->control, SHUT_WR);
	while (!channel_receive(zygote->control, PROTOCOL_ANSWER_MAX, clock_now_ns() + PATIENCE_NS,
				&frame))
		frame_free(&frame); /* a parser that was not taken */
	close(zygote->control);
	kill(zygote->pid, SIGKILL);
	while (waitpid(zygote->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*zygote = (struct zygote){0};
}
