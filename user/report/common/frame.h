/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks in the text report. */
#ifndef MTRACE_REPORT_COMMON_FRAME_H
#define MTRACE_REPORT_COMMON_FRAME_H

#include "model/snapshot/snapshot.h"
#include "report/common/page.h"

/* The stack of a site, or NULL if none was recorded. */
const struct snapshot_stack *site_stack(const struct snapshot_process *process,
					const struct snapshot_site *site);

/*
 * The frame to look at first: the innermost one with a source line in the program itself, rather
 * than in a wrapper, a header of the C++ library or the C library's start code. Without one, the
 * next best frame; NULL if the stack has no frames.
 */
const struct snapshot_frame *stack_culprit(const struct snapshot_stack *stack);

/* Returns true if the frame's function or module is known. */
bool frame_named(const struct snapshot_frame *frame);

#define FRAME_LABEL_SIZE 320 /* fits a file name of 255 bytes and a number */

/* The function, or else the location: "libfoo.so.1+0x1234", "0x7f0012345678". */
const char *frame_label(const struct snapshot_frame *frame, char label[FRAME_LABEL_SIZE]);
/* "leak.c:23", or "" if the file is not known. */
const char *frame_source(const struct snapshot_frame *frame, char label[FRAME_LABEL_SIZE]);

/* Writes "main (leak.c:23)" on the current line. */
void frame_brief(struct page *page, const struct snapshot_frame *frame);

/*
 * Writes all frames in aligned columns, one per line, innermost first; with modules if long_frames.
 */
void stack_write(struct page *page, const struct snapshot_stack *stack, size_t indent,
		 bool long_frames);

#endif
