/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks as the text report shows them. */
#ifndef MTRACE_REPORT_COMMON_FRAME_H
#define MTRACE_REPORT_COMMON_FRAME_H

#include "model/snapshot/snapshot.h"
#include "report/common/page.h"

/* The stack of a site; NULL if none was recorded. */
const struct snapshot_stack *site_stack(const struct snapshot_process *process,
					const struct snapshot_site *site);

/*
 * The frame to look at first: the innermost whose source line is known and belongs to the program,
 * as against wrappers, the C++ library's headers and the C library's start code; or the next best.
 * NULL if there is none.
 */
const struct snapshot_frame *stack_culprit(const struct snapshot_stack *stack);

/* Is there more to say of it than its address? */
bool frame_named(const struct snapshot_frame *frame);

#define FRAME_LABEL_SIZE 320 /* a file name of 255 bytes and a number */

/* The function, or where the code lies: "libfoo.so.1+0x1234", "0x7f0012345678". */
const char *frame_label(const struct snapshot_frame *frame, char label[FRAME_LABEL_SIZE]);
/* "leak.c:23", or "". */
const char *frame_source(const struct snapshot_frame *frame, char label[FRAME_LABEL_SIZE]);

/* "main (leak.c:23)", on the current line. */
void frame_brief(struct page *page, const struct snapshot_frame *frame);

/* All frames in aligned columns, one a line, innermost first; with modules if long_frames. */
void stack_write(struct page *page, const struct snapshot_stack *stack, size_t indent,
		 bool long_frames);

#endif
