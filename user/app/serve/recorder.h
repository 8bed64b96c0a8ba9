/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records the events of a source in a file as they happen (--record). If the tracer is killed, only
 * the last second is missing. Nothing is written before the first event, so a trace that fails to
 * start leaves an older recording untouched.
 */
#ifndef MTRACE_APP_SERVE_RECORDER_H
#define MTRACE_APP_SERVE_RECORDER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/event.h"
#include "model/model.h"
#include "model/process/process.h"
#include "net/stream/stream.h"
#include "symbol/elf/module_table.h"

struct recorder;

/* What the recording says about the trace. Borrows everything. */
struct recorder_config {
	struct module_table *modules; /* modules that mappings refer to */
	const struct model_config *model_config;
	const char *backend;
};

/*
 * Opens a file and checks that it is writable; "-" is standard output. A new file gets the mode,
 * less the umask. Returns 0 or -errno with a message.
 */
int recorder_open(struct recorder **ret_recorder, const char *path, mode_t mode, struct error *err);
/* Writes to `output`, which messages call `name`. Returns 0 or -ENOMEM. */
int recorder_open_to(struct recorder **ret_recorder, const char *name, stream_output *output,
		     void *ctx);
void recorder_describe(struct recorder *recorder, const struct recorder_config *config);
void recorder_close(struct recorder *recorder); /* NULL is fine */

/*
 * Each returns 0 or -errno. The first failure is kept with its message, and nothing is recorded
 * after it.
 */
int recorder_event(struct recorder *recorder, const struct event *event);
/* The result of the last leak scan in the model, or why there was none. */
int recorder_scan(struct recorder *recorder, const struct process *process);
int recorder_scanned(struct recorder *recorder, const struct stream_scanned *scanned);
int recorder_unprobed(struct recorder *recorder);
/* Writes events held for a second or longer, or all of them. */
int recorder_flush(struct recorder *recorder, bool all);
/*
 * Ends the recording; nothing may be recorded after it. taken_ns (CLOCK_MONOTONIC) and taken_at_ms
 * are when the report of the trace was made. `failure` is why the trace broke off, or NULL. Returns
 * 0 or -errno with a message.
 */
int recorder_finish(struct recorder *recorder, uint64_t taken_ns, uint64_t taken_at_ms,
		    const char *failure, struct error *err);

/* The first failure, or NULL. */
const struct error *recorder_failure(const struct recorder *recorder);
/* "5,000,012 events, 34.5 MiB, in FILE" */
#define RECORDER_TEXT_SIZE 512
const char *recorder_text(const struct recorder *recorder, char text[RECORDER_TEXT_SIZE]);

#endif
