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
#ifndef MTRACE_NET_STREAM_H
#define MTRACE_NET_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/event.h"
#include "model/snapshot.h"
#include "net/frame.h"

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
 * that error. All are needed.
 */
struct stream_handler {
	int (*settings)(void *ctx, const struct stream_settings *settings);
	int (*module)(void *ctx, const struct stream_module *module);
	int (*event)(void *ctx, const struct event *event);
	int (*scan_site)(void *ctx, const struct stream_scan_site *site);
	int (*scan)(void *ctx, const struct stream_scan *scan);
	int (*unprobed)(void *ctx);
	int (*end)(void *ctx, const struct stream_end *end);
	void *ctx;
};

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
/* Bytes that were understood, up to the end of the last whole frame. */
uint64_t stream_position(const struct stream_reader *reader);
/* Frames of unknown kinds, which were skipped. */
uint64_t stream_skipped(const struct stream_reader *reader);

#endif
