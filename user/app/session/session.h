/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session owns what a trace is made of: the source, the modules and their parser, the books.
 * It knows nothing of signals, children and the end of the trace (app/trace/trace.c).
 */
#ifndef MTRACE_APP_SESSION_SESSION_H
#define MTRACE_APP_SESSION_SESSION_H

#include <stdint.h>
#include <sys/types.h>

#include "app/cli/options.h"
#include "app/report/report.h"
#include "app/serve/recorder.h"
#include "app/serve/serve.h"
#include "app/session/period.h"
#include "base/error.h"
#include "model/model.h"
#include "os/ptrace/holder.h"
#include "source/selection.h"
#include "source/source.h"

struct scan_order;
struct session;

/* What is known about a trace that another machine makes, and what that machine can do. */
struct elsewhere {
	uint64_t now_ns;        /* of its clock: when it told something last, or its report was */
	uint64_t taken_at_ms;   /* its report, since the epoch; 0: it goes on */
	const char *incomplete; /* what is missing, or NULL */
	/* Scans for leaks there; otherwise like scanner_scan (app/scan/scanner.h). */
	int (*scan)(struct session *session, const struct scan_order *order, size_t *ret_scans,
		    struct error *err);
};

struct session {
	struct module_table *modules;
	struct parser *parser;
	struct model_config books;
	struct model *model;               /* NULL: a recording is made, and nothing else */
	struct recorder *recorder;         /* NULL: no recording */
	struct serve *serve;               /* whom the recording goes to; NULL: into a file */
	const struct elsewhere *elsewhere; /* whose clock counts; NULL: ours */
	struct source *source;
	struct report report;
	struct selected selected;
	bool measures; /* what tracing costs, as far as that can be measured: … */
	struct snapshot_overhead overhead; /* … of app/session/overhead.h */
	struct error fallback;             /* why BPF is not used, to be told; code 0: nothing is */
	bool record_failed;                /* it was told; what comes is not recorded any more */
	bool record_ended;                 /* likewise */
	int failure;                       /* the first error of a drain: the books end there */
	uint64_t taken_ns;                 /* of the last report, CLOCK_MONOTONIC … */
	uint64_t taken_at_ms;              /* … and since the epoch */
	struct period period;              /* what lived at the last report */
	struct kept kept;                  /* its files, and those before */
	uint64_t leaks;  /* blocks of --leak-kinds in the last report, except suppressed ones */
	uint64_t errors; /* of the last report, by --sanity */
};

/*
 * Where reports will go: to standard_fd unless a file is named, with first_pid for %p. Cannot fail;
 * report_check(&session->report, …) then says whether they can be written.
 */
void session_init(struct session *session, const struct options *options, int standard_fd,
		  pid_t first_pid);
/* Open the recording, or listen for those that it is sent to. 0 or -errno with words. */
int session_record(struct session *session, struct loop *loop, struct error *err);
/* Books and source. The options have to outlive it. 0 or -errno with words; close in any case. */
int session_open(struct session *session, struct error *err);
void session_close(struct session *session); /* zeroed memory is fine */

int session_attach(struct session *session, pid_t pid, struct error *err);
/* To all that were named: what was read of their files ahead is not needed any more. */
void session_attached(struct session *session);
/* All that runs and is selected. */
int session_attach_all(struct session *session, struct error *err);
/*
 * Who can stop a process of the session, and hold it at its end. NULL for a process that is not to
 * be held, and has no tracer: anybody can stop that. 0 or -errno with words.
 */
int session_hold(struct session *session, const struct hold_request *request,
		 struct holder **ret_holder, struct error *err);
/* The held child that will run `program`. */
int session_attach_launch(struct session *session, pid_t pid, const char *program,
			  char *const *command, struct error *err);

/* A descriptor to poll; it may also stay silent until drained. */
int session_fd(const struct session *session);
/* Another, or -1: readable while a program waits for us to drain. */
int session_hold_fd(const struct session *session);
/* Book all that has happened. 0, or session->failure. */
int session_drain(struct session *session);
/* Processes still traced and alive. */
uint32_t session_live(const struct session *session);

/* Does it have a ring buffer? Of that, the most that was used since the last time, in millionths.
 */
bool session_ring_peak(struct session *session, uint64_t *ret_ppm);

/* Enter what the source has lost so far. 0 or -ENOMEM. */
int session_book_losses(struct session *session);

/* A picture of the books as they are. 0 or -errno with words. */
int session_snapshot(struct session *session, struct snapshot **ret_snapshot, struct error *err);
/* What session_report finds out for the exit status, without a report. 0 or -errno with words. */
int session_judge(struct session *session, struct error *err);
/* Books to scan with: of a trace that is served without any, those that its server can make. 0 or
 * -errno with words. */
int session_need_books(struct session *session, struct error *err);
/* What became of a scan that a client has ordered. */
void session_record_scanned(struct session *session, const struct stream_scanned *scanned);
/* What the books know of a leak scan now belongs into a recording as well. */
void session_record_scan(struct session *session, const struct process *books);

/*
 * Write the reports, from the books as they are; without books, what was recorded so far. The trace
 * goes on. 0 or -errno with words.
 */
int session_report(struct session *session, struct error *err);
/* Book what has happened, take the probes out, and book what happened meanwhile. */
void session_detach(struct session *session);
/* The recording is complete; says what was written, or what is wrong with it. 0 or -errno. */
int session_end_recording(struct session *session);

#endif
