/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/trace/trace.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "app/cli/usage.h"
#include "base/log.h"

/* The kernel does not wake us for every event: that would slow down the traced program. */
#define POLL_NS (50 * 1000000ULL)

/* A failed interim report is reported, and the trace continues. */
static void on_report(void *ctx, uint32_t what)
{
	struct trace *trace = ctx;
	struct error err;

	(void)what;
	session_drain(&trace->session);
	if (session_report(&trace->session, &err))
		log_error("%s", err.text);
}

/* The last report that --count asks for is the final one. */
static void on_interval(void *ctx, uint32_t what)
{
	struct trace *trace = ctx;

	if (++trace->intervals == trace->options->count)
		trace_stop(trace, END_COUNT);
	else
		on_report(ctx, what);
}

int trace_open(struct trace *trace, const struct options *options, struct error *err)
{
	int code;

	trace->options = options;
	trace->interrupts.fd = -1;
	trace->on_terminal = trace_has_terminal();
	code = loop_new(&trace->loop);
	if (!code)
		code = interrupts_open(&trace->interrupts);
	if (!code)
		code = loop_add_signal(trace->loop, SIGUSR1, on_report, trace, NULL);
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error, not our death … */
	signal(SIGXFSZ, SIG_IGN); /* … and so is a recording that exceeds ulimit -f */
	return code ? error_set_errno(err, code, "cannot watch signals") : 0;
}

void trace_close(struct trace *trace)
{
	metrics_close(trace->metrics);
	overhead_close(trace->overhead);
	scanner_close(&trace->scanner);
	session_close(&trace->session);
	loop_free(trace->loop);
	interrupts_release(&trace->interrupts);
}

int trace_refuse(struct error *err, const char *what, const struct error *reason)
{
	return error_set(err, reason->code, "cannot trace %s: %s", what, reason->text);
}

void trace_stop(struct trace *trace, enum trace_end end)
{
	if (trace->end == END_NONE)
		trace->end = end;
	loop_stop(trace->loop);
}

static int scan_for(struct trace *trace, const struct handshake_order *order, bool control,
		    size_t *ret_scans, struct error *err)
{
	const struct scan_order wanted = {.pid = (pid_t)order->pid, .live = order->live};
	int code;

	*ret_scans = 0;
	if (!control)
		return error_set(err, -EPERM, "another client is in control");
	code = session_need_model(&trace->session, err);
	if (!code)
		code = scanner_scan(&trace->scanner, &wanted, ret_scans, err);
	if (!code && !*ret_scans)
		code = error_set(err, -ESRCH, "no process left to scan");
	return code;
}

/* A client requests a scan, or one in control requests the end. */
static void on_order(void *ctx, const struct handshake_order *order, bool control)
{
	struct stream_scanned scanned = {.tag = order->tag};
	struct trace *trace = ctx;
	struct error err;
	size_t scans;

	if (order->kind == ORDER_END) {
		trace_stop(trace, END_ASKED);
		return;
	}
	if (scan_for(trace, order, control, &scans, &err))
		scanned.why = err.text;
	scanned.scans = (uint32_t)scans;
	session_record_scanned(&trace->session, &scanned);
}

int trace_await_client(struct trace *trace, struct error *err)
{
	if (!trace->session.serve)
		return 0;
	return serve_await(trace->session.serve, trace->interrupts.fd, err);
}

static void on_abort(void *ctx)
{
	trace_stop(ctx, END_OVERHEAD);
}

int trace_prepare(struct trace *trace, pid_t pid, const char *what, int standard_fd,
		  struct error *err)
{
	struct error reason;
	int code;

	session_init(&trace->session, trace->options, standard_fd, pid);
	code = report_check(&trace->session.report, err);
	if (!code)
		code = session_record(&trace->session, trace->loop, err);
	if (code)
		return code;
	serve_on_order(trace->session.serve, on_order, trace);
	code = session_open(&trace->session, &reason);
	if (!code)
		code = scanner_open(&trace->scanner, &trace->session, trace->loop, &reason);
	if (!code)
		code = overhead_open(&trace->overhead,
				     &(struct overhead_config){.session = &trace->session,
							       .loop = trace->loop,
							       .abort = on_abort,
							       .ctx = trace},
				     &reason);
	if (code)
		return trace_refuse(err, what, &reason);
	return metrics_open(&trace->metrics, &trace->session, trace->loop, err);
}

void trace_outlived(struct trace *trace)
{
	if (!trace->shell || trace->asked)
		trace_stop(trace, END_EXIT);
}

static void on_interrupt(void *ctx, uint32_t what)
{
	struct trace *trace = ctx;
	struct interrupt interrupt;

	(void)what;
	while (!interrupts_read(&trace->interrupts, &interrupt)) {
		if (trace->shell && interrupt.signal == SIGINT) {
			shell_interrupt(trace->shell);
			continue;
		}
		trace->end_signal = interrupt.signal;
		trace->interrupted(trace, &interrupt);
	}
}

static void on_quit(void *ctx)
{
	trace_stop(ctx, END_QUIT);
}

static bool is_over(void *ctx)
{
	const struct trace *trace = ctx;

	return trace->end != END_NONE;
}

static void poll_interrupts(void *ctx)
{
	on_interrupt(ctx, 0);
}

/* Called as soon as there is a model; a remote one arrives with the first bytes of the stream. */
static int trace_open_shell(struct trace *trace, struct error *err)
{
	const struct shell_config config = {.session = &trace->session,
					    .scanner = &trace->scanner,
					    .loop = trace->loop,
					    .quit = on_quit,
					    .over = is_over,
					    .poll = poll_interrupts,
					    .ctx = trace};

	if (!trace->options->interactive || trace->shell || !trace->session.model)
		return 0;
	return shell_open(&trace->shell, &config, err);
}

static void on_events(void *ctx, uint32_t what)
{
	struct trace *trace = ctx;
	struct error err;

	(void)what;
	if (session_drain(&trace->session)) {
		trace_stop(trace, END_FAILURE);
	} else if (trace_open_shell(trace, &err)) {
		log_error("%s", err.text);
		trace_stop(trace, END_FAILURE);
	} else {
		trace->drained(trace);
	}
	if (trace->shell)
		shell_drained(trace->shell);
}

int trace_watch_interval(struct trace *trace)
{
	uint64_t period = trace->options->interval_ns;

	loop_remove(trace->loop, trace->interval);
	trace->interval = NULL;
	return period ? loop_add_timer(trace->loop, period, period, on_interval, trace,
				       &trace->interval)
		      : 0;
}

static int trace_watch(struct trace *trace)
{
	struct loop *loop = trace->loop;
	int code = loop_add_fd(loop, session_fd(&trace->session), EPOLLIN | EPOLLET, on_events,
			       trace, NULL);

	if (!code && session_hold_fd(&trace->session) >= 0)
		code = loop_add_fd(loop, session_hold_fd(&trace->session), EPOLLIN, on_events,
				   trace, NULL);
	if (!code)
		code = loop_add_timer(loop, POLL_NS, POLL_NS, on_events, trace, NULL);
	if (!code)
		code = loop_add_fd(loop, trace->interrupts.fd, EPOLLIN, on_interrupt, trace, NULL);
	if (!code)
		code = overhead_start(trace->overhead);
	return code ? code : trace_watch_interval(trace);
}

/* From here on, the trace handles ^C. */
static void trace_close_shell(struct trace *trace)
{
	if (trace->shell)
		trace->failures = shell_failures(trace->shell);
	shell_close(trace->shell);
	trace->shell = NULL;
}

int trace_run(struct trace *trace, struct error *err)
{
	int code = trace_watch(trace);

	if (code)
		return error_set_errno(err, code, "the trace failed");
	code = trace_open_shell(trace, err);
	if (code)
		return code;
	code = loop_run(trace->loop);
	trace_close_shell(trace);
	return code ? error_set_errno(err, code, "the trace failed") : 0;
}

/*
 * ^C also ends a launched program, whose exit may be read first. Then the unread request is already
 * fulfilled, and it must not end us before the report.
 */
static void grant_requests(struct trace *trace)
{
	struct interrupt interrupt;

	while (trace->end == END_EXIT && !interrupts_read(&trace->interrupts, &interrupt))
		;
}

int trace_status(const struct trace *trace, int status)
{
	int wanted = trace->options->error_exitcode;

	if (trace->failures)
		return EXIT_CANNOT;
	if (trace->end == END_OVERHEAD)
		return EXIT_ABORTED;
	return wanted && (trace->session.leaks || trace->session.errors) ? wanted : status;
}

bool trace_wants_report(const struct options *options)
{
	const struct format_request *request;

	if (!options->interactive || options->output)
		return true;
	vec_each (request, &options->formats)
		if (request->path)
			return true;
	return false;
}

/* Removes the probes before anything else. A recording remains, with what was traced. */
static int trace_abort(struct trace *trace)
{
	int code;

	session_detach(&trace->session);
	scanner_close(&trace->scanner);
	interrupts_release(&trace->interrupts);
	code = session_end_recording(&trace->session) ? -EIO : 0;
	serve_linger(trace->session.serve, false);
	return code ? code : trace->session.failure;
}

int trace_finish(struct trace *trace)
{
	struct error err;
	int code, written;

	if (trace->end == END_OVERHEAD)
		return trace_abort(trace);
	grant_requests(trace);
	if (trace->options->scan || !interrupts_postpone(&trace->interrupts))
		interrupts_release(&trace->interrupts);
	scanner_finish(&trace->scanner);
	session_detach(&trace->session);
	interrupts_release(&trace->interrupts);
	if (trace->session.failure && !trace->session.record_failed)
		log_error("the trace failed: %s; the report covers what came before",
			  strerror(-trace->session.failure));
	code = trace_wants_report(trace->options) ? session_report(&trace->session, &err)
						  : session_evaluate(&trace->session, &err);
	if (code)
		log_error("%s", err.text);
	written = metrics_finish(trace->metrics);
	if (!code)
		code = written;
	if (session_end_recording(&trace->session) && !code)
		code = -EIO;
	scanner_close(&trace->scanner);
	serve_linger(trace->session.serve, trace->end != END_SIGNAL);
	return code ? code : trace->session.failure;
}
