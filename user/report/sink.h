/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sink writes a snapshot in one format. It never changes it and asks nobody else. */
#ifndef MTRACE_REPORT_SINK_H
#define MTRACE_REPORT_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/snapshot/snapshot.h"

struct sink_options {
	uint32_t top;    /* sites shown; 0: all */
	bool worst_last; /* on a terminal the worst stands at the end, where the eye is */
	bool color;
	bool utf8;          /* the locale can show it */
	bool long_frames;   /* -L: module of each frame */
	bool ids;           /* of sites, for who can ask for one */
	bool verbose;       /* -v: an example of each leak, and what was suppressed */
	uint32_t width;     /* columns, at least 60 */
	bool allocated;     /* of a profile, what a reader shows first: all, not what is in use */
	enum sort_key sort; /* how the snapshot was sorted: named in the heading */
};

struct sink {
	const char *name;  /* as --format knows it */
	bool wants_blocks; /* each live block: see model_config's lists_blocks */
	/* 0 or -errno (disk full, closed pipe). */
	int (*write)(const struct snapshot *snapshot, const struct sink_options *options,
		     FILE *out);
};

/* By name, or NULL. */
const struct sink *sink_find(const char *name);
/* The i-th sink, or NULL behind the last: for help and suggestions. */
const struct sink *sink_at(size_t i);

extern const struct sink sink_text;
extern const struct sink sink_json;
extern const struct sink sink_mtrace;
extern const struct sink sink_folded;
extern const struct sink sink_pprof;
extern const struct sink sink_pprof_text;

#endif
