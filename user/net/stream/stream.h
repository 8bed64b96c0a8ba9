/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event stream: everything that a source reports, in an encoding that is the same on every
 * machine, for a file or a socket. Besides events it contains everything else that shapes a report:
 * the settings of the model, the modules that mappings refer to, and the results of leak scans.
 * docs/STREAM.md describes every byte.
 *
 * A stream starts with a hello and ends with an end record. Without the end it is incomplete, and
 * valid up to the point where it breaks off. The bytes are untrusted: a reader either returns
 * -EBADMSG with the reason, or delivers events that the model can take.
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

/* What shapes the model, and which tracer wrote the stream. */
struct stream_settings {
	uint32_t apis;
	bool wrappers;
	bool sanity;
	bool omits;
	bool scans;
	bool exits_unseen;
	uint64_t page_size;
	uint64_t sample;      /* mean at level 0, in bytes; 0: every call is recorded */
	uint64_t min_size;    /* --min-size … */
	uint64_t max_size;    /* … and --max-size; 0: none */
	uint64_t begun_ns;    /* CLOCK_MONOTONIC … */
	uint64_t begun_at_ms; /* … and the same time since the epoch */
	const char *version;  /* of the tracer */
	const char *backend;  /* name of its source */
};

/* The model configuration for these settings. */
static inline struct model_config stream_model_config(const struct stream_settings *settings)
{
	return (struct model_config){
		.apis = settings->apis,
		.wrappers = settings->wrappers,
		.sanity = settings->sanity,
		.omits = settings->omits,
		.scans = settings->scans,
		.exits_unseen = settings->exits_unseen,
		.page_size = settings->page_size,
		.sample = settings->sample,
		.min_size = settings->min_size,
		.max_size = settings->max_size,
	};
}

#define STREAM_SEGMENTS_MAX 64

struct stream_segment {
	uint64_t offset; /* in the file, in bytes */
	uint64_t vaddr;
	uint64_t size;
	bool executable;
};

/* A module as it was when mapped: enough to recognize its file later. */
struct stream_module {
	uint32_t id; /* as in EVENT_MAPPING */
	const char *path;
	const char *build_id; /* hexadecimal; NULL if it has none */
	uint64_t size;        /* of the file, in bytes */
	uint32_t machine;     /* e_machine */
	bool elf64;
	bool big_endian;
	bool executable;
	const struct stream_segment *segments; /* at most STREAM_SEGMENTS_MAX */
	uint32_t segment_count;
};

/* What the last leak scan of a process found at one site. Sites without findings are omitted. */
struct stream_scan_site {
	uint32_t process_number; /* number of the process in the model: see model_process_by_number
				  */
	uint32_t site;           /* index of the site … */
	uint32_t api;            /* … and its api and … */
	uint64_t first_seen_ns;  /* … first call, which tell whether it is still the same site */
	struct snapshot_leaks leaks;
};

struct stream_scan {
	uint32_t process_number;
	uint32_t sites; /* number of sites reported before this record, all of this process */
	struct snapshot_scan scan; /* reason: why there was no scan; then the rest is invalid */
};

struct stream_end {
	uint64_t events;      /* total number of events */
	uint64_t taken_ns;    /* time of the report, made or not: CLOCK_MONOTONIC … */
	uint64_t taken_at_ms; /* … and since the epoch */
	const char *failure;  /* why the trace broke off, or NULL */
};

/*
 * Follows a checkpoint (net/checkpoint/save.h), which replaces the start of a stream: tells where
 * the stream continues, in the numbering of its writer.
 */
struct stream_resume {
	uint64_t offset;    /* number of bytes before that point */
	uint64_t frames;    /* number of frames before it */
	uint64_t events;    /* number of events before it */
	uint64_t last_ns;   /* time of the last of these events */
	uint32_t first_pid; /* of the first process reported; 0 if there was none */
};

/* An order of a client (net/protocol/handshake.h) was carried out, and the results came before this
 * record; or it failed. */
struct stream_scanned {
	uint32_t tag;
	uint32_t scans;  /* number of processes that were scanned */
	const char *why; /* why it failed, or NULL */
};

/* Takes all bytes. Returns 0 or -errno. */
typedef int stream_output(void *ctx, const void *bytes, size_t size);

#endif
