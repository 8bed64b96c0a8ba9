/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace: a session in an event loop, from the first probe to the final report. The common part of
 * attaching to processes (attach.c) and launching a program (launch.c).
 *
 * What ends a trace (the man page says the same, for users):
 *
 * - The whole system: the first signal.
 * - Attached: the exit of the last process, or the first SIGINT, SIGTERM or SIGHUP.
 * - Launched: the exit of CMD. The first signal is for CMD: CMD also receives what the terminal
 *   sends, and a signal to mtrace-bpf alone is passed on, because ending a wrapper means ending the
 *   program. Tracing continues, so that the last calls of CMD are recorded: after ^C without limit
 *   (an interactive CMD continues), after other signals for PATIENCE_NS, because a supervisor that
 *   sends SIGTERM soon sends SIGKILL. The second signal ends the trace.
 *
 * With a shell (--interactive), a trace ends by quit, at the end of the shell's input, or by a
 * signal other than ^C. A launched program is then in the background and receives all signals from
 * us; if it is still running at the end, it keeps running.
 *
 * A trace that costs more than --abort-over allows ends without a scan or a report. CMD keeps
 * running, and mtrace-bpf exits after it.
 *
 * Otherwise the last leak scan follows, if requested, the probes are removed, and the report is
 * made while the program already runs at full speed. From there on, a signal ends mtrace-bpf at
 * once.
 */
#ifndef MTRACE_APP_TRACE_TRACE_H
#define MTRACE_APP_TRACE_TRACE_H

#include "app/scan/scanner.h"
#include "app/session/metrics.h"
#include "app/session/overhead.h"
#include "app/session/session.h"
#include "app/shell/shell.h"
#include "app/trace/interrupts.h"
#include "base/loop.h"
#include "os/exec/launch.h"

enum trace_end {
	END_NONE,
	END_EXIT,     /* all processes have exited */
	END_SIGNAL,   /* a signal to us; for a launched program, the second one */
	END_PATIENCE, /* one signal, but the launched program did not exit in time */
	END_QUIT,     /* quit in the shell, or the end of its input */
	END_COUNT,    /* --count reports were made, except the last one */
	END_ASKED,    /* a client asked for it */
	END_OVERHEAD, /* tracing costs more than --abort-over allows */
	END_FAILURE,  /* the source or the model failed */
};

struct trace {
	const struct options *options;
	struct session session;
	struct scanner scanner;
	struct loop *loop;
	struct interrupts interrupts;
	struct overhead *overhead;   /* NULL: not measured */
	struct metrics *metrics;     /* NULL: not wanted */
	struct loop_watch *interval; /* for --interval; NULL: none */
	struct shell *shell;         /* with --interactive, while it runs; handles ^C */
	unsigned int failures;       /* failed commands of its script */
	bool on_terminal;            /* at the start: see trace_hangup_reloads */
	enum trace_end end;
	uint32_t intervals; /* number of intervals between reports so far */
	int end_signal;     /* the last signal that asked for an end */

	/* Different for attaching and launching: */
	void (*interrupted)(struct trace *trace, const struct interrupt *interrupt);
	void (*drained)(struct trace *trace); /* checks whether the trace is over */

	/* For a launched program: */
	struct launch launch;
	sigset_t ignored; /* signals that our parent ignores */
	char name[32];
	bool asked;      /* an end was requested before */
	bool reaped;     /* the program has exited: */
	int wait_status; /* as wait(2) gives it */
};

/*
 * Opens loop and signals; `trace` is all zero. Returns 0 or -errno with a message; close in any
 * case.
 */
int trace_open(struct trace *trace, const struct options *options, struct error *err);
/*
 * Sets up the session up to the first probe. `what` names the target in messages; reports go to
 * standard_fd unless a file is named. Returns 0 or -errno with a message.
 */
int trace_prepare(struct trace *trace, pid_t pid, const char *what, int standard_fd,
		  struct error *err);
/* With serve --wait: waits for the first client. Returns 0 or -errno with a message. */
int trace_await_client(struct trace *trace, struct error *err);
/* "cannot trace WHAT: REASON"; returns the reason's code. */
int trace_refuse(struct error *err, const char *what, const struct error *reason);
void trace_close(struct trace *trace);

/*
 * Returns true if a final report is wanted. After a shell there is none, unless a file was
 * requested.
 */
bool trace_wants_report(const struct options *options);
/* Handles events until trace->end is set. Returns 0 or -errno with a message. */
int trace_run(struct trace *trace, struct error *err);
/* Sets the report interval from the current options. Returns 0 or -errno. */
int trace_watch_interval(struct trace *trace);
/* The exit status of a trace that succeeded: that of --error-exitcode, or `status`. */
int trace_status(const struct trace *trace, int status);
/* All processes have exited: ends the trace, unless a user at the shell may want to look at it. */
void trace_outlived(struct trace *trace);
/* Ends the trace. Only the first reason counts. */
void trace_stop(struct trace *trace, enum trace_end end);
/* Detaches and writes the final report. Prints errors. Returns 0 or -errno. */
int trace_finish(struct trace *trace);

#endif
