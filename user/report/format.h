/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats of reports. Each writes a snapshot, and knows nothing else. */
#ifndef MTRACE_REPORT_FORMAT_H
#define MTRACE_REPORT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/snapshot/snapshot.h"

struct format_options {
	uint32_t top;    /* sites shown; 0: all */
	bool worst_last; /* on a terminal the worst stands at the end, where the eye is */
	bool color;
	bool utf8;          /* the locale can show it */
	bool long_frames;   /* -L: module of each frame */
	bool ids;           /* of sites, for who can ask for one */
	bool verbose;       /* -v: an example of each leak, and what was suppressed */
	uint32_t listed;    /* leak classes whose sites are listed even without -v; bits */
	uint32_t width;     /* columns, at least 60 */
	bool allocated;     /* of a profile, what a reader shows first: all, not what is in use */
	enum sort_key sort; /* how the snapshot was sorted: named in the heading */
};

struct report_format {
	const char *name;  /* as --format knows it */
	bool wants_blocks; /* each live block: see model_config's lists_blocks */
	/* 0 or -errno (disk full, closed pipe). */
	int (*write)(const struct snapshot *snapshot, const struct format_options *options,
		     FILE *out);
};

/* The format with the name, or NULL. */
const struct report_format *format_find(const char *name);
/* The i-th format, or NULL after the last. */
const struct report_format *format_at(size_t i);

extern const struct report_format format_text;
extern const struct report_format format_json;
extern const struct report_format format_mtrace;
extern const struct report_format format_folded;
extern const struct report_format format_pprof;
extern const struct report_format format_pprof_text;

#endif
