/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sections of a text report about several processes, and their table. */
#ifndef MTRACE_REPORT_TEXT_SECTIONS_H
#define MTRACE_REPORT_TEXT_SECTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "model/snapshot/snapshot.h"
#include "report/common/page.h"
#include "report/format.h"

/* The sections that the report shows, in order: those that matter most first (snapshot_compare). */
struct sections {
	const struct snapshot_process **shown;
	size_t count;
	struct snapshot_others
		rest; /* the hidden ones, including those summed up in the snapshot */
};

/* Chooses at most `top` sections (0: all). Returns 0 or -ENOMEM. Free with sections_free. */
int sections_choose(struct sections *ret_sections, const struct snapshot *snapshot, uint32_t top);
void sections_free(struct sections *sections);

/* Writes a line for each section, and one for the rest. */
void text_sections(struct page *page, const struct sections *sections,
		   const struct snapshot *snapshot, const struct format_options *options);

#endif
