/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event stream: all that a source tells, in an encoding that is the same on every machine, for
 * a file or a socket. Besides events it has what else shapes a report: the settings of the books,
 * the modules that mappings name, and the results of leak scans. docs/STREAM.md describes it byte
 * by byte.
 *
 * A stream begins with a hello and ends with an end; without one it is incomplete, and holds up to
 * where it breaks off. What a reader gets is somebody else's bytes: whatever they are, it says
 * -EBADMSG and why, or delivers events that the model can take.
 */
#ifndef MTRACE_NET_STREAM_STREAM_H
#define MTRACE_NET_STREAM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/event.h"
#include "model/model.h"
#include "model/snapshot/snapshot.h"
#include "net/stream/frame.h"

/* What shapes the books, and who tells it. */
struct stream_settings {
	uint32_t apis;
	bool wrappers;
	bool sanity;
	bool omits;
	bool scans;
	bool ends_unseen;
	uint64_t page_size;
	uint64_t sample;      /* the mean of level 0; 0: every call is told */
	uint64_t min_size;    /* --min-size … */
	uint64_t max_size;    /* … --max-size; 0: none */
	uint64_t begun_ns;    /* CLOCK_MONOTONIC … */
	uint64_t begun_at_ms; /* … and the same moment since the epoch */
	const char *version;  /* of the tracer */
	const char *backend;  /* name of its source */
};

/* The books that they shape. */
static inline struct model_config stream_books(const struct stream_settings *settings)
{
	return (struct model_config){
		.apis = settings->apis,
		.wrappers = settings->wrappers,
		.sanity = settings->sanity,
		.omits = settings->omits,
		.scans = settings->scans,
		.ends_unseen = settings->ends_unseen,
		.page_size = settings->page_size,
		.sample = settings->sample,
		.min_size = settings->min_size,
		.max_size = settings->max_size,
	};
}

#define STREAM_SEGMENTS_MAX 64

struct stream_segment {
	uint64_t offset; /* in the file, bytes */
	uint64_t vaddr;
	uint64_t size;
	bool executable;
};

/* What is known of a module where it was mapped: enough to know its file again. */
struct stream_module {
	uint32_t id; /* as EVENT_MAPPING has it */
	const char *path;
	const char *build_id; /* hex; NULL if it has none */
	uint64_t size;        /* of the file, bytes */
	uint32_t machine;     /* e_machine */
	bool elf64;
	bool big_endian;
	bool executable;
	const struct stream_segment *segments; /* at most STREAM_SEGMENTS_MAX */
	uint32_t segment_count;
};

/* What the last leak scan of a process found, by site; of sites without a find nothing is told. */
struct stream_scan_site {
	uint32_t books;         /* number of the books that it is of: see model_books */
	uint32_t site;          /* index there … */
	uint32_t api;           /* … and what tells whether it is still the same: its api … */
	uint64_t first_seen_ns; /* … and its first call */
	struct snapshot_leaks leaks;
};

struct stream_scan {
	uint32_t books;
	uint32_t sites;            /* told before this, all of them of these books */
	struct snapshot_scan scan; /* reason: why there was none; then the rest does not count */
};

struct stream_end {
	uint64_t events;   /* told in all */
	uint64_t taken_ns; /* when the report was, or would have been made: CLOCK_MONOTONIC … */
	uint64_t taken_at_ms; /* … and since the epoch */
	const char *failure;  /* why the trace broke off, or NULL */
};

/*
 * Behind whole books (net/books/books.h), which stand for the beginning of a stream: from where on
 * it goes on, as who wrote it had numbered it.
 */
struct stream_resume {
	uint64_t offset;    /* bytes before */
	uint64_t frames;    /* likewise */
	uint64_t events;    /* likewise */
	uint64_t last_ns;   /* when the last of them was */
	uint32_t first_pid; /* of the first process that was told; 0: none was */
};

/* A client's order (net/protocol/talk.h) was carried out, and what it found was told before; or why
 * not. */
struct stream_scanned {
	uint32_t tag;
	uint32_t scans;  /* so many processes */
	const char *why; /* what went wrong, or NULL */
};

/* Telling. */

struct stream_writer;

/* Takes all the bytes, or fails with -errno. */
typedef int stream_output(void *ctx, const void *bytes, size_t size);

/* Nothing is output yet. `squeeze`: compress, if that is built in. 0 or -ENOMEM. */
int stream_writer_new(struct stream_writer **ret_writer, bool squeeze, stream_output *output,
		      void *ctx);
void stream_writer_free(struct stream_writer *writer); /* NULL is fine */

/*
 * Each tells one thing, in order; the settings come first, the end last. 0 or -errno: -ENOMEM,
 * -EMSGSIZE, or what the output said. After a failure nothing more is told, and the same is
 * returned.
 */
int stream_tell_settings(struct stream_writer *writer, const struct stream_settings *settings);
int stream_tell_module(struct stream_writer *writer, const struct stream_module *module);
int stream_tell_event(struct stream_writer *writer, const struct event *event);
int stream_tell_scan_site(struct stream_writer *writer, const struct stream_scan_site *site);
int stream_tell_scan(struct stream_writer *writer, const struct stream_scan *scan);
int stream_tell_unprobed(struct stream_writer *writer);
/* What books_save makes; its bytes are taken. */
int stream_tell_books(struct stream_writer *writer, struct pack *records);
int stream_tell_resume(struct stream_writer *writer, const struct stream_resume *resume);
int stream_tell_scanned(struct stream_writer *writer, const struct stream_scanned *scanned);
int stream_tell_end(struct stream_writer *writer,
		    struct stream_end end); /* `events` is filled in */
/* Events are gathered; this lets them go. */
int stream_flush(struct stream_writer *writer);
uint64_t stream_events(const struct stream_writer *writer); /* told so far */
bool stream_is_held(const struct stream_writer *writer);    /* are there gathered ones? */

/* Being told. */

struct stream_reader;

/*
 * Who is told. What a call gets is valid until it returns; a negative return ends the reading with
 * that error. What there is no call for (NULL) is passed over, or is refused with -EBADMSG.
 */
struct stream_handler {
	/* Passed over: */
	int (*settings)(void *ctx, const struct stream_settings *settings);
	int (*module)(void *ctx, const struct stream_module *module);
	int (*scanned)(void *ctx, const struct stream_scanned *scanned);
	/* Refused: */
	int (*event)(void *ctx, const struct event *event);
	int (*scan_site)(void *ctx, const struct stream_scan_site *site);
	int (*scan)(void *ctx, const struct stream_scan *scan);
	int (*unprobed)(void *ctx);
	/* For books_load; then resume, once, and what is told by then is what the books are. */
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
 * The next bytes, as many as have come; what is whole is delivered. 0; the handler's error, without
 * words; or with words -EBADMSG (damaged, or no stream at all), -EPROTONOSUPPORT (another version)
 * and -ENOMEM. After a failure nothing is read any more.
 */
int stream_read(struct stream_reader *reader, const void *bytes, size_t size, struct error *err);
/* Has the end been told, and nothing behind it? */
bool stream_is_complete(const struct stream_reader *reader);
/* The hello; NULL as long as it has not come. */
const struct stream_hello *stream_hello(const struct stream_reader *reader);
/* Bytes of the stream that were understood, up to the end of the last whole frame … */
uint64_t stream_position(const struct stream_reader *reader);
/* … frames … */
uint64_t stream_frames(const struct stream_reader *reader);
/* … and events. */
uint64_t stream_heard(const struct stream_reader *reader);
/* The byte of the stream that is to be read next. */
uint64_t stream_wanted(const struct stream_reader *reader);
/* Frames of unknown kinds, which were skipped. */
uint64_t stream_skipped(const struct stream_reader *reader);

#endif
