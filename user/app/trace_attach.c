/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracing processes that run already. They are never signalled, and outlive us. */
#include "app/trace.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/command.h"
#include "app/target.h"
#include "base/log.h"

#define PID_TEXT_SIZE 16

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
	(void)interrupt;
	trace_stop(trace, END_SIGNAL);
}

static void attached_drained(struct trace *trace)
{
	if (!session_live(&trace->session))
		trace_stop(trace, END_EXIT);
}

/* All of them, before anything is done to one. */
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
		scanner_add(&trace->scanner, target->pid, EXIT_WATCH_NOW);
	}
	return 0;
}

/* Scripts wait for this line: from here on every call is seen. */
static void targets_announce(const struct targets *targets)
{
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
		log_warn("tracing %s and %zu more, ^C for the report", names, count - named);
	else
		log_warn("tracing %s, ^C for the report", names);
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
	return code ? code : targets_attach(trace, targets, err);
}

int trace_attach(const struct options *options)
{
	struct trace trace = {.interrupts.fd = -1,
			      .interrupted = attached_interrupted,
			      .drained = attached_drained};
	struct targets targets = {0};
	struct error err;
	int code = attach_start(&trace, &targets, options, &err);

	if (!code) {
		targets_announce(&targets);
		code = trace_run(&trace, &err);
	}
	if (code)
		log_error("%s", err.text);
	else
		code = trace_finish(&trace);
	code = code ? EXIT_CANNOT : trace_status(&trace, EXIT_DONE);
	trace_close(&trace);
	vec_free(&targets.list);
	return code;
}
