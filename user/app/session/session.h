/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session owns the parts of a trace: the source, the modules and their parser, and the model. It
 * knows nothing about signals, children and the end of the trace (app/trace/trace.c).
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
#include "app/session/room.h"
#include "base/error.h"
#include "model/model.h"
#include "os/ptrace/holder.h"
#include "source/selection.h"
#include "source/source.h"

struct scan_order;
struct session;

/* What is known about a trace on another machine, and what that machine can do. */
struct remote_state {
	uint64_t now_ns;        /* by its clock: its last event or its report */
	uint64_t taken_at_ms;   /* of its report, since the epoch; 0: still running */
	const char *incomplete; /* what is missing, or NULL */
	/* Scans for leaks there; otherwise like scanner_scan (app/scan/scanner.h). */
	int (*scan)(struct session *session, const struct scan_order *order, size_t *ret_scans,
		    struct error *err);
};

struct session {
	struct module_table *modules;
	struct parser *parser;
	struct model_config model_config;
	struct room room;
	struct model *model;                     /* NULL: only recording */
	struct recorder *recorder;               /* NULL: no recording */
	struct serve *serve;                     /* where the recording goes; NULL: to a file */
	const struct remote_state *remote_state; /* whose clock applies; NULL: ours */
	struct source *source;
	struct report report;
	struct selected selected;
	bool measures_start;               /* once, after the attach */
	bool measures;                     /* periodically, what tracing costs, if possible: … */
	struct snapshot_overhead overhead; /* … of app/session/overhead.h */
	struct error fallback;             /* why BPF is not used, to be reported; code 0: none */
	bool record_failed;                /* reported; later events are not recorded */
	bool record_ended;                 /* same */
	int failure;                       /* first error of a drain: the model ends there */
	uint64_t taken_ns;                 /* of the last report, CLOCK_MONOTONIC … */
	uint64_t taken_at_ms;              /* … and since the epoch */
	struct period period;              /* live memory at the last report */
	struct retention kept;             /* files of the reports so far */
	uint64_t leaks;  /* blocks of --leak-kinds in the last report, except suppressed ones */
	uint64_t errors; /* of the last report, found by --sanity */
};

/*
 * Sets where reports will go: to standard_fd unless a file is named, with first_pid for %p. Cannot
 * fail; report_check(&session->report, …) then checks that they can be written.
 */
void session_init(struct session *session, const struct options *options, int standard_fd,
		  pid_t first_pid);
/* Opens the recording, or listens for its clients. Returns 0 or -errno with a message. */
int session_record(struct session *session, struct loop *loop, struct error *err);
/*
 * Opens the model and the source. The options must outlive the session. Returns 0 or -errno with a
 * message; close in any case.
 */
int session_open(struct session *session, struct error *err);
void session_close(struct session *session); /* zeroed memory is fine */

int session_attach(struct session *session, pid_t pid, struct error *err);
/* After the last session_attach: drops prefetched file contents. */
void session_attached(struct session *session);
/* Attaches to all running processes that are selected. */
int session_attach_all(struct session *session, struct error *err);
/*
 * Gets a holder that can stop a process of the session and hold it at exit. NULL if the process is
 * not to be held and has no tracer: then anyone can stop it. Returns 0 or -errno with a message.
 */
int session_hold(struct session *session, const struct hold_request *request,
		 struct holder **ret_holder, struct error *err);
/* Attaches to the held child that will run `program`. */
int session_attach_launch(struct session *session, pid_t pid, const char *program,
			  char *const *command, struct error *err);

/* A descriptor to poll. It may stay silent, so drain regularly as well. */
int session_fd(const struct session *session);
/* Another descriptor, or -1: readable while a program waits for a drain. */
int session_hold_fd(const struct session *session);
/* Drains all events into the model. Returns 0 or session->failure. */
int session_drain(struct session *session);
/* The number of traced processes that are still running. */
uint32_t session_live(const struct session *session);

/* Returns true if there is a ring buffer, and its peak usage since the last call, in millionths. */
bool session_ring_peak(struct session *session, uint64_t *ret_ppm);

/* Stores the source's losses so far in the model. Returns 0 or -ENOMEM. */
int session_update_losses(struct session *session);

/* A snapshot of the model as it is. Returns 0 or -errno with a message. */
int session_snapshot(struct session *session, struct snapshot **ret_snapshot, struct error *err);
/* Finds errors and leaks for the exit status, without a report. Returns 0 or -errno with a message.
 */
int session_evaluate(struct session *session, struct error *err);
/*
 * Makes sure there is a model for a scan: a served trace without one gets the model that its server
 * can make. Returns 0 or -errno with a message.
 */
int session_need_model(struct session *session, struct error *err);
/* Records the outcome of a scan that a client requested. */
void session_record_scanned(struct session *session, const struct stream_scanned *scanned);
/* Records the result of a leak scan in the model. */
void session_record_scan(struct session *session, const struct process *process);

/*
 * Writes the reports from the current model; without a model, only flushes the recording. The trace
 * continues. Returns 0 or -errno with a message.
 */
int session_report(struct session *session, struct error *err);
/* Drains events, removes the probes, and drains what happened in between. */
void session_detach(struct session *session);
/* Completes the recording and says what was written or went wrong. Returns 0 or -errno. */
int session_end_recording(struct session *session);

#endif
