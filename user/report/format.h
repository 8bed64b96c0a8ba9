/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report formats. Each writes a snapshot and knows nothing else. */
#ifndef MTRACE_REPORT_FORMAT_H
#define MTRACE_REPORT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/snapshot/snapshot.h"

struct format_options {
	uint32_t top;    /* sites shown; 0: all */
	bool worst_last; /* on a terminal, the worst sites come last, next to the prompt */
	bool color;
	bool utf8;          /* the locale supports it */
	bool long_frames;   /* -L: show the module of each frame */
	bool ids;           /* show site ids, if the user can ask for a site */
	bool verbose;       /* -v: show an example of each leak, and what was suppressed */
	uint32_t listed;    /* leak classes whose sites are listed even without -v; bits */
	uint32_t width;     /* columns, at least 60 */
	bool allocated;     /* profiles open with all allocations instead of what is in use */
	enum sort_key sort; /* how the snapshot was sorted, for the heading */
};

struct report_format {
	const char *name;  /* as in --format */
	bool wants_blocks; /* needs each live block: see model_config's lists_blocks */
	/* Returns 0 or -errno (disk full, closed pipe). */
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
