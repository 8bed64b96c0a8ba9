// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows a server's trace: a trace whose source is a socket. */
#include "app/replay/connect.h"

#include <string.h>
#include <unistd.h>

#include "app/cli/usage.h"
#include "app/replay/remote.h"
#include "app/trace/trace.h"
#include "base/log.h"

static void connected_interrupted(struct trace *trace, const struct interrupt *interrupt)
{
	(void)interrupt;
	trace_stop(trace, END_SIGNAL);
}

static void connected_drained(struct trace *trace)
{
	if (!remote_is_over(&trace->session))
		return;
	if (trace->shell && !trace->reaped)
		log_warn("the server ended the trace or is gone; what was received remains "
			 "available");
	trace->reaped = true;
	trace_outlived(trace);
}

static int connect_start(struct trace *trace, const struct options *options, struct error *err)
{
	int code = trace_open(trace, options, err);

	if (code)
		return code;
	session_init(&trace->session, options, STDOUT_FILENO, 0);
	code = report_check(&trace->session.report, err);
	if (!code)
		code = remote_open(&trace->session, options, trace->loop, err);
	if (!code)
		code = metrics_open(&trace->metrics, &trace->session, trace->loop, err);
	if (!code)
		log_warn("connected to %s, %s", options->program[0],
			 options->interactive ? "type help for commands" : "^C for the report");
	return code;
}

/* Reports what was received. Returns the exit status: EXIT_CANNOT if nothing was received, or if
 * the trace is incomplete because the server was lost; then says what is missing. */
static int connect_report(struct trace *trace)
{
	struct session *session = &trace->session;
	struct error err;

	remote_finish(session);
	if (!session->model) {
		log_error("the server sent no trace");
		return EXIT_CANNOT;
	}
	if (trace_wants_report(trace->options) ? session_report(session, &err)
					       : session_evaluate(session, &err)) {
		log_error("%s", err.text);
		return EXIT_CANNOT;
	}
	if (metrics_finish(trace->metrics))
		return EXIT_CANNOT;
	if (!session->remote_state->incomplete)
		return session->failure ? EXIT_CANNOT : trace_status(trace, EXIT_DONE);
	log_warn("%s", session->remote_state->incomplete);
	return EXIT_CANNOT;
}

/* Scans the processes that are still running there, like a local trace does at its end. */
static void connect_scan(struct trace *trace)
{
	const struct scan_order order = {.live = trace->options->scan_mode == SCAN_MODE_LIVE};
	struct error err;
	size_t scans;

	if (!trace->options->scan || !trace->session.model || remote_is_over(&trace->session))
		return;
	if (remote_scan(&trace->session, &order, &scans, &err))
		log_warn("no leak scan: %s", err.text);
}

static int connect_follow(struct trace *trace)
{
	struct error err;

	if (trace_run(trace, &err)) {
		log_error("%s", err.text);
		return EXIT_CANNOT;
	}
	interrupts_release(&trace->interrupts);
	connect_scan(trace);
	return connect_report(trace);
}

/* Returns what is wrong with the command line, or NULL. */
static const char *misuse(const struct options *options)
{
	if (!options->program)
		return "needs the address of a server";
	if (options->program[1])
		return "takes one address";
	return options->record ? "does not record" : NULL;
}

static const char *foreign(const struct options *options)
{
	return options->trace_option ? options->trace_option : options->serve_option;
}

int command_connect(const struct options *options)
{
	struct trace trace = {.interrupts.fd = -1,
			      .interrupted = connected_interrupted,
			      .drained = connected_drained};
	const char *wrong = misuse(options);
	int status = EXIT_CANNOT;
	struct error err;

	if (wrong || foreign(options)) {
		if (wrong)
			log_error("connect %s; see mtrace-bpf --help", wrong);
		else
			log_error("--%s is not valid with connect; see mtrace-bpf --help",
				  foreign(options));
		return EXIT_USAGE;
	}
	if (connect_start(&trace, options, &err))
		log_error("%s", err.text);
	else
		status = connect_follow(&trace);
	trace_close(&trace);
	return status;
}
