/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces running processes. They are never signalled, and they outlive us. */
#include "app/trace/attach.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/cli/usage.h"
#include "app/trace/service.h"
#include "app/trace/target.h"
#include "app/trace/trace.h"
#include "base/log.h"

#define PID_TEXT_SIZE 16
#define SYSTEM_NAME   "the whole system"

struct targets {
	VEC(struct target) list; /* in the order of the command line */
};

static const char *pid_text(pid_t pid, char text[PID_TEXT_SIZE])
{
	snprintf(text, PID_TEXT_SIZE, "%d", (int)pid);
	return text;
}

static void attached_interrupted(struct trace *trace, const struct interrupt *interrupt)
{
	if (interrupt->signal != SIGHUP || !trace_hangup_reloads(trace)) {
		trace_stop(trace, END_SIGNAL);
		return;
	}
	/* this SIGHUP asks for no end, so a following signal cannot be its echo */
	trace->interrupts.echo_until_ns = 0;
	trace_reload(trace);
}

static void attached_drained(struct trace *trace)
{
	if (!session_live(&trace->session))
		trace_outlived(trace);
}

/* Checks all of them before attaching to any. */
static int targets_check(struct targets *targets, const struct options *options, struct error *err)
{
	char text[PID_TEXT_SIZE];
	const pid_t *pid;

	vec_each (pid, &options->pids) {
		struct target target;
		struct error reason;

		if (target_check(*pid, &target, &reason))
			return trace_refuse(err, pid_text(*pid, text), &reason);
		if (vec_push(&targets->list, target))
			return error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int targets_attach(struct trace *trace, const struct targets *targets, struct error *err)
{
	char text[PID_TEXT_SIZE];
	const struct target *target;

	vec_each (target, &targets->list) {
		struct error reason;

		if (session_attach(&trace->session, target->pid, &reason))
			return trace_refuse(err, pid_text(target->pid, text), &reason);
		scanner_add(&trace->scanner, target->pid, HOLD_NOW);
	}
	return 0;
}

static const char *announced_end(const struct options *options)
{
	if (options->interactive)
		return "type help for commands";
	return options->serve ? "^C stops serving" : "^C for the report";
}

/* Scripts wait for this line: every call after it is traced. */
static void targets_announce(const struct targets *targets, const struct options *options)
{
	const char *then = announced_end(options);
	char names[256] = "";
	size_t used = 0, named = 0, count = targets->list.count;
	const struct target *target;

	vec_each (target, &targets->list) {
		int length = snprintf(names + used, sizeof(names) - used, "%s%s (%d)",
				      named ? ", " : "", target->name, (int)target->pid);

		if ((size_t)length >= sizeof(names) - used)
			break;
		used += (size_t)length;
		named++;
	}
	names[used] = '\0';
	if (named < count)
		log_warn("tracing %s and %zu more, %s", names, count - named, then);
	else
		log_warn("tracing %s, %s", names, then);
}

/* Tracing the whole system never ends on its own. */
static void system_drained(struct trace *trace)
{
	(void)trace;
}

static int system_attach(struct trace *trace, struct error *err)
{
	struct error reason;

	if (session_attach_all(&trace->session, &reason))
		return trace_refuse(err, SYSTEM_NAME, &reason);
	return 0;
}

static void system_announce(const struct trace *trace)
{
	uint32_t count = session_live(&trace->session);

	const char *then = announced_end(trace->options);
	const char *new_ones =
		trace->session.selected.rules.wants ? "all new ones that match" : "all new ones";

	if (count)
		log_warn("tracing %u process%s and %s, %s", count, count == 1 ? "" : "es", new_ones,
			 then);
	else
		log_warn("no process matches yet: tracing %s, %s", new_ones, then);
}

static int system_start(struct trace *trace, const struct options *options, struct error *err)
{
	int code = trace_open(trace, options, err);

	if (!code)
		code = trace_prepare(trace, getpid(), SYSTEM_NAME, STDOUT_FILENO, err);
	if (!code)
		code = trace_await_client(trace, err);
	return code ? code : system_attach(trace, err);
}

static int attach_start(struct trace *trace, struct targets *targets, const struct options *options,
			struct error *err)
{
	char text[PID_TEXT_SIZE];
	pid_t first = options->pids.items[0];
	int code = targets_check(targets, options, err);

	if (!code)
		code = trace_open(trace, options, err);
	if (!code)
		code = trace_prepare(trace, first, pid_text(first, text), STDOUT_FILENO, err);
	if (!code)
		code = trace_await_client(trace, err);
	return code ? code : targets_attach(trace, targets, err);
}

/* From the first probe to the report. Returns the exit status. */
static int attach_follow(struct trace *trace)
{
	struct error err;
	int code = trace_ready(trace);

	code = code ? error_set_errno(&err, code, "the trace failed") : trace_run(trace, &err);
	trace_stopping();
	if (code)
		log_error("%s", err.text);
	else
		code = trace_finish(trace);
	return code ? EXIT_CANNOT : trace_status(trace, EXIT_DONE);
}

int trace_attach(const struct options *options)
{
	struct trace trace = {.interrupts.fd = -1,
			      .interrupted = attached_interrupted,
			      .drained = attached_drained};
	struct targets targets = {0};
	int status = EXIT_CANNOT;
	struct error err;

	if (attach_start(&trace, &targets, options, &err)) {
		log_error("%s", err.text);
	} else {
		targets_announce(&targets, options);
		session_attached(&trace.session);
		status = attach_follow(&trace);
	}
	trace_close(&trace);
	vec_free(&targets.list);
	return status;
}

int trace_system(const struct options *options)
{
	struct trace trace = {.interrupts.fd = -1,
			      .interrupted = attached_interrupted,
			      .drained = system_drained};
	int status = EXIT_CANNOT;
	struct error err;

	if (system_start(&trace, options, &err)) {
		log_error("%s", err.text);
	} else {
		system_announce(&trace);
		status = attach_follow(&trace);
	}
	trace_close(&trace);
	return status;
}
