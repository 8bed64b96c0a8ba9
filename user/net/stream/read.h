/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads an event stream (net/stream/stream.h). The bytes are not trusted: the reader either returns
 * -EBADMSG with the reason, or delivers events that the model can take.
 */
#ifndef MTRACE_NET_STREAM_READ_H
#define MTRACE_NET_STREAM_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "net/stream/stream.h"

struct stream_reader;

/*
 * Receives the records. Arguments are valid only during the call. If a callback returns a negative
 * value, reading ends with that error. A record without a callback (NULL) is skipped, or rejected
 * with -EBADMSG.
 */
struct stream_handler {
	/* Skipped without a callback: */
	int (*settings)(void *ctx, const struct stream_settings *settings);
	int (*module)(void *ctx, const struct stream_module *module);
	int (*scanned)(void *ctx, const struct stream_scanned *scanned);
	/* Rejected without a callback: */
	int (*event)(void *ctx, const struct event *event);
	int (*scan_site)(void *ctx, const struct stream_scan_site *site);
	int (*scan)(void *ctx, const struct stream_scan *scan);
	int (*unprobed)(void *ctx);
	/* Called with parts of a checkpoint, for checkpoint_load. `resume` is called once after
	 * them: the model is then complete up to that point. */
	int (*checkpoint)(void *ctx, struct unpack *body);
	int (*resume)(void *ctx, const struct stream_resume *resume);
	int (*end)(void *ctx, const struct stream_end *end);
	void *ctx;
};

/* Returns true if a stream can start with these bytes. */
bool stream_may_begin(const char *bytes, size_t size);

int stream_reader_new(struct stream_reader **ret_reader, const struct stream_handler *handler);
void stream_reader_free(struct stream_reader *reader); /* NULL is fine */

/*
 * Reads the next bytes, any number of them, and delivers each complete record. Returns 0; the
 * handler's error, without a message; or, with a message, -EBADMSG (damaged, or not a stream),
 * -EPROTONOSUPPORT (another version) or -ENOMEM. After a failure nothing more is read.
 */
int stream_read(struct stream_reader *reader, const void *bytes, size_t size, struct error *err);
/* Returns true if the end record was read and nothing follows it. */
bool stream_is_complete(const struct stream_reader *reader);
/* Returns the hello, or NULL until it was read. */
const struct stream_hello *stream_hello(const struct stream_reader *reader);
/* Offset of the end of the last complete frame, and the number of frames and events up to there. */
uint64_t stream_position(const struct stream_reader *reader);
uint64_t stream_frames(const struct stream_reader *reader);
uint64_t stream_heard(const struct stream_reader *reader);
/* Offset in the stream of the next byte to read. */
uint64_t stream_wanted(const struct stream_reader *reader);
/* Number of frames of unknown kinds, which were skipped. */
uint64_t stream_skipped(const struct stream_reader *reader);

#endif
