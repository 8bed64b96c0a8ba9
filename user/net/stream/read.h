/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads an event stream (net/stream/stream.h). The bytes are not trusted: the reader returns
 * -EBADMSG and the reason, or delivers events that the model can take.
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
 * Receives the records. Arguments are valid until the call returns; a negative return value ends
 * the reading with that error. A record without a callback (NULL) is skipped, or refused with
 * -EBADMSG.
 */
struct stream_handler {
	/* Skipped without a callback: */
	int (*settings)(void *ctx, const struct stream_settings *settings);
	int (*module)(void *ctx, const struct stream_module *module);
	int (*scanned)(void *ctx, const struct stream_scanned *scanned);
	/* Refused without a callback: */
	int (*event)(void *ctx, const struct event *event);
	int (*scan_site)(void *ctx, const struct stream_scan_site *site);
	int (*scan)(void *ctx, const struct stream_scan *scan);
	int (*unprobed)(void *ctx);
	/* For books_load. Then comes resume, once: the model is complete up to there. */
	int (*books)(void *ctx, struct unpack *body);
	int (*resume)(void *ctx, const struct stream_resume *resume);
	int (*end)(void *ctx, const struct stream_end *end);
	void *ctx;
};

/* Can these be the first bytes of a stream? */
bool stream_may_begin(const char *bytes, size_t size);

int stream_reader_new(struct stream_reader **ret_reader, const struct stream_handler *handler);
void stream_reader_free(struct stream_reader *reader); /* NULL is fine */

/*
 * Reads the next bytes, any number of them, and delivers each record that is complete. Returns 0;
 * the handler's error, without a message; or, with a message, -EBADMSG (damaged, or not a stream),
 * -EPROTONOSUPPORT (another version) or -ENOMEM. After a failure nothing more is read.
 */
int stream_read(struct stream_reader *reader, const void *bytes, size_t size, struct error *err);
/* Returns true if the end record was read, and nothing behind it. */
bool stream_is_complete(const struct stream_reader *reader);
/* The hello, or NULL until it was read. */
const struct stream_hello *stream_hello(const struct stream_reader *reader);
/* Bytes up to the end of the last complete frame, and the frames and events in them. */
uint64_t stream_position(const struct stream_reader *reader);
uint64_t stream_frames(const struct stream_reader *reader);
uint64_t stream_heard(const struct stream_reader *reader);
/* Offset in the stream of the next byte to read. */
uint64_t stream_wanted(const struct stream_reader *reader);
/* Frames of unknown kinds, which were skipped. */
uint64_t stream_skipped(const struct stream_reader *reader);

#endif
