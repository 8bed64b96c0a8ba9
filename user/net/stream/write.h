/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes an event stream (net/stream/stream.h). */
#ifndef MTRACE_NET_STREAM_WRITE_H
#define MTRACE_NET_STREAM_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/stream/stream.h"

struct stream_writer;

/* Outputs nothing yet. `squeeze`: compress if that is built in. Returns 0 or -ENOMEM. */
int stream_writer_new(struct stream_writer **ret_writer, bool squeeze, stream_output *output,
		      void *ctx);
void stream_writer_free(struct stream_writer *writer); /* NULL is fine */

/*
 * Each writes one record, in order: first the settings, last the end. Returns 0, -ENOMEM,
 * -EMSGSIZE, or the error of the output. After a failure nothing more is written, and each call
 * returns the same error.
 */
int stream_tell_settings(struct stream_writer *writer, const struct stream_settings *settings);
int stream_tell_module(struct stream_writer *writer, const struct stream_module *module);
int stream_tell_event(struct stream_writer *writer, const struct event *event);
int stream_tell_scan_site(struct stream_writer *writer, const struct stream_scan_site *site);
int stream_tell_scan(struct stream_writer *writer, const struct stream_scan *scan);
int stream_tell_unprobed(struct stream_writer *writer);
/* Clears the records, which books_save creates. */
int stream_tell_books(struct stream_writer *writer, struct pack *records);
int stream_tell_resume(struct stream_writer *writer, const struct stream_resume *resume);
int stream_tell_scanned(struct stream_writer *writer, const struct stream_scanned *scanned);
/* Fills in end.events. */
int stream_tell_end(struct stream_writer *writer, struct stream_end end);
/* Events are collected into frames. Outputs what is collected so far. */
int stream_flush(struct stream_writer *writer);
uint64_t stream_events(const struct stream_writer *writer); /* written so far */
/* Returns true if events are collected. */
bool stream_is_held(const struct stream_writer *writer);

#endif
