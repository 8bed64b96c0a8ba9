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
 * Behind whole books (net/books/save.h), which stand for the beginning of a stream: from where on
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

/* Takes all the bytes, or fails with -errno. */
typedef int stream_output(void *ctx, const void *bytes, size_t size);

#endif
