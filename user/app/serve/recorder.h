/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes what a source tells into a file, as it comes (--record): a killed tracer leaves all but
 * the last second. Nothing is written before there is something to tell, so a trace that does not
 * begin leaves an older recording as it was.
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

/* What the recording says of the trace. Borrows everything. */
struct recorder_config {
	struct module_table *modules; /* those that mappings name */
	const struct model_config *books;
	const char *backend;
};

/* The file can be written, and is ours from here on; "-" is standard output. 0 or -errno with
 * words. */
int recorder_open(struct recorder **ret_recorder, const char *path, struct error *err);
/* It goes to `output`; `name`: where that is, for messages. 0 or -ENOMEM. */
int recorder_open_to(struct recorder **ret_recorder, const char *name, stream_output *output,
		     void *ctx);
void recorder_describe(struct recorder *recorder, const struct recorder_config *config);
void recorder_close(struct recorder *recorder); /* NULL is fine */

/*
 * Each: 0, or -errno; the first failure is kept, with words, and nothing is recorded after it.
 */
int recorder_event(struct recorder *recorder, const struct event *event);
/* What the books keep of the last leak scan, or why there was none. */
int recorder_scan(struct recorder *recorder, const struct process *books);
int recorder_scanned(struct recorder *recorder, const struct stream_scanned *scanned);
int recorder_unprobed(struct recorder *recorder);
/* Let go what has waited for a second; all of it, if that is wanted. */
int recorder_flush(struct recorder *recorder, bool all);
/*
 * The end: nothing may be recorded behind it. taken_ns (CLOCK_MONOTONIC) and taken_at_ms: when the
 * report of the trace was made. `failure`: why it broke off, or NULL. 0 or -errno, with words.
 */
int recorder_finish(struct recorder *recorder, uint64_t taken_ns, uint64_t taken_at_ms,
		    const char *failure, struct error *err);

/* The first failure; NULL if there was none. */
const struct error *recorder_failure(const struct recorder *recorder);
/* "5,000,012 events, 34.5 MiB, in FILE" */
#define RECORDER_TEXT_SIZE 512
const char *recorder_text(const struct recorder *recorder, char text[RECORDER_TEXT_SIZE]);

#endif
