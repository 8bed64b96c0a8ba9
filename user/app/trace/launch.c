/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches a program and traces it from its first instruction; trace.h says how the trace ends. */
#include "app/trace/launch.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/cli/usage.h"
#include "app/trace/target.h"
#include "app/trace/trace.h"
#include "base/log.h"

#define NS_PER_SECOND 1000000000ULL
#define PATIENCE_NS   (2 * NS_PER_SECOND)
#define NOTICE_NS     (1 * NS_PER_SECOND)

static void on_patience_over(void *ctx, uint32_t what)
{
	(void)what;
	trace_stop(ctx, END_PATIENCE);
}

static void on_notice(void *ctx, uint32_t what)
{
	struct trace *trace = ctx;

	(void)what;
	log_warn("tracing until %s exits, ^C again for the report now", trace->name);
}

static void launched_asked(struct trace *trace, const struct interrupt *interrupt)
{
	bool ctrl_c = interrupt->from_terminal && interrupt->signal == SIGINT;

	trace->asked = true;
	if (!interrupt->from_terminal || trace->shell)
		kill(trace->launch.pid, interrupt->signal);
	if (loop_add_timer(trace->loop, ctrl_c ? NOTICE_NS : PATIENCE_NS, 0,
			   ctrl_c ? on_notice : on_patience_over, trace, NULL))
		trace_stop(trace, END_PATIENCE);
}

static void launched_interrupted(struct trace *trace, const struct interrupt *interrupt)
{
	if (trace->reaped && !trace->options->follow && !trace->shell)
		return; /* its pid may have been reused */
	if (trace->asked || trace->reaped)
		trace_stop(trace, END_SIGNAL);
	else
		launched_asked(trace, interrupt);
}

/*
 * SIGCHLD reports the exit of the program, because the source cannot know more. Followed children
 * may outlive it.
 */
static void launched_drained(struct trace *trace)
{
	if (trace->reaped && !session_live(&trace->session))
		trace_outlived(trace);
}

/* Drains its last events before it is reaped: until then no other process can have its pid. */
static void on_child(void *ctx, uint32_t what)
{
	struct trace *trace = ctx;

	(void)what;
	session_drain(&trace->session);
	if (trace->reaped || !launch_ended(&trace->launch, &trace->wait_status))
		return;
	trace->reaped = true;
	if (!trace->options->follow)
		trace_outlived(trace);
	else
		launched_drained(trace);
}

/* With --hold-exec, the program waits for us at exec like any other. */
static void serve_own_exec(struct trace *trace)
{
	struct pollfd fds[] = {{.fd = trace->launch.status, .events = POLLIN},
			       {.fd = session_hold_fd(&trace->session), .events = POLLIN}};

	while (fds[1].fd >= 0 && !fds[0].revents) {
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			continue;
		session_drain(&trace->session);
		fds[1].fd = session_hold_fd(&trace->session);
	}
}

/* Holds the child, attaches, and lets it run. *ret_exit is the exit status after a failure. */
static int launch_start(struct trace *trace, int *ret_exit, struct error *err)
{
	struct launch_options launch = {
		.argv = trace->options->program,
		.user = trace->options->user,
		.directory = trace->options->directory,
		.background = trace->options->interactive,
		.mask = loop_original_mask(trace->loop),
		.ignored = &trace->ignored,
	};
	struct error reason;
	int code = launch_hold(&launch, &trace->launch, ret_exit, err);

	if (code)
		return code;
	*ret_exit = EXIT_CANNOT;
	code = trace_prepare(trace, trace->launch.pid, trace->name, STDERR_FILENO, err);
	if (code)
		return code;
	if (session_attach_launch(&trace->session, trace->launch.pid, trace->launch.program,
				  trace->options->program, &reason))
		return trace_refuse(err, trace->name, &reason);
	scanner_add(&trace->scanner, trace->launch.pid, HOLD_EXEC);
	code = trace_await_client(trace, err);
	if (code)
		return code;
	launch_release(&trace->launch);
	serve_own_exec(trace);
	return launch_confirm(&trace->launch, ret_exit, err);
}

static int launch_open(struct trace *trace, const struct options *options, struct error *err)
{
	int code;

	target_name(options->program[0], trace->name);
	signals_ignored(&trace->ignored);
	signal(SIGCHLD, SIG_DFL); /* if it is ignored, the kernel keeps no exit status */
	code = trace_open(trace, options, err);
	if (code)
		return code;
	code = loop_add_signal(trace->loop, SIGCHLD, on_child, trace, NULL);
	return code ? error_set_errno(err, code, "cannot watch %s", trace->name) : 0;
}

/*
 * Waits for CMD even after the trace is over, because we exit when CMD does and with its status.
 * After our tracing thread was joined, the kernel may not have cleaned it up yet; waitpid() then
 * reports its last stop to us.
 */
static void launch_wait(struct trace *trace)
{
	while (!trace->reaped) {
		pid_t pid = waitpid(trace->launch.pid, &trace->wait_status, 0);

		trace->reaped = pid < 0 ? errno != EINTR : !WIFSTOPPED(trace->wait_status);
	}
}

/* The signal to die by, or 0: the one we received, or the one that killed CMD. */
static int launch_signal(const struct trace *trace)
{
	if (!trace->reaped)
		return trace->end_signal;
	return WIFSIGNALED(trace->wait_status) ? WTERMSIG(trace->wait_status) : 0;
}

/* Tells the user of the shell that commands can be typed, and that the program has no input. */
static void launch_announce(const struct trace *trace)
{
	if (trace->options->interactive)
		log_warn("tracing %s (%d) with /dev/null as its input; type help for commands",
			 trace->name, (int)trace->launch.pid);
}

/* From the first instruction to the end. Returns the exit status, or sets the signal to die by. */
static int launch_follow(struct trace *trace, int *ret_signal)
{
	struct error err;
	int failed, status;

	launch_announce(trace);
	failed = trace_run(trace, &err);
	if (failed)
		log_error("%s", err.text);
	if (trace_finish(trace))
		failed = -1;
	scanner_close(&trace->scanner);
	status = trace_status(trace, EXIT_DONE);
	session_close(&trace->session);
	if (trace->end == END_OVERHEAD && !trace->reaped)
		log_warn("%s (%d) keeps running, untraced: waiting for its exit", trace->name,
			 (int)trace->launch.pid);
	if (trace->end != END_SIGNAL && trace->end != END_QUIT)
		launch_wait(trace);
	if (trace->end == END_QUIT && !trace->reaped)
		log_warn("%s (%d) keeps running, untraced", trace->name, (int)trace->launch.pid);
	if (failed)
		return EXIT_CANNOT;
	if (status)
		return status;
	*ret_signal = launch_signal(trace);
	return WEXITSTATUS(trace->wait_status);
}

int trace_launch(const struct options *options)
{
	struct trace trace = {
		.interrupts.fd = -1,
		.interrupted = launched_interrupted,
		.drained = launched_drained,
		.launch = {.pid = -1, .hold = -1, .status = -1},
	};
	int status = EXIT_CANNOT, signal_number = 0;
	struct error err;

	if (launch_open(&trace, options, &err) || launch_start(&trace, &status, &err))
		log_error("%s", err.text);
	else
		status = launch_follow(&trace, &signal_number);
	launch_abandon(&trace.launch);
	trace_close(&trace);
	if (signal_number)
		die_by_signal(signal_number);
	return status;
}
