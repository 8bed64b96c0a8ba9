/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes an event stream (net/stream/stream.h). */
#ifndef MTRACE_NET_STREAM_WRITE_H
#define MTRACE_NET_STREAM_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/stream/stream.h"

struct stream_writer;

/* Outputs nothing yet. `compressed`: if compression is built in. Returns 0 or -ENOMEM. */
int stream_writer_new(struct stream_writer **ret_writer, bool compressed, stream_output *output,
		      void *ctx);
void stream_writer_free(struct stream_writer *writer); /* NULL is fine */

/*
 * Each writes one record, in order: first the settings, last the end. Returns 0, -ENOMEM,
 * -EMSGSIZE, or the error of the output. After a failure nothing more is written, and each call
 * returns the same error.
 */
int stream_write_settings(struct stream_writer *writer, const struct stream_settings *settings);
int stream_write_module(struct stream_writer *writer, const struct stream_module *module);
int stream_write_event(struct stream_writer *writer, const struct event *event);
int stream_write_scan_site(struct stream_writer *writer, const struct stream_scan_site *site);
int stream_write_scan(struct stream_writer *writer, const struct stream_scan *scan);
int stream_write_unprobed(struct stream_writer *writer);
/* Clears the records, which checkpoint_save creates. */
int stream_write_checkpoint(struct stream_writer *writer, struct pack *records);
int stream_write_resume(struct stream_writer *writer, const struct stream_resume *resume);
int stream_write_scanned(struct stream_writer *writer, const struct stream_scanned *scanned);
/* Fills in end.events. */
int stream_write_end(struct stream_writer *writer, struct stream_end end);
/* Events are collected into frames. Outputs what is collected so far. */
int stream_flush(struct stream_writer *writer);
uint64_t stream_events(const struct stream_writer *writer); /* written so far */
/* Returns true if events are collected. */
bool stream_is_held(const struct stream_writer *writer);

#endif
