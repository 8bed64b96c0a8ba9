/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output that remembers its first error: writers need not check every call, nothing is written
 * behind a gap, and the errno of the write that failed (ENOSPC, EPIPE) reaches the caller. The file
 * is not locked: one thread writes.
 */
#ifndef MTRACE_REPORT_COMMON_OUT_H
#define MTRACE_REPORT_COMMON_OUT_H

#include <stddef.h>
#include <stdio.h>

struct out {
	FILE *file;
	int err; /* 0 or the first -errno */
};

void out_bytes(struct out *out, const char *bytes, size_t count);
void out_text(struct out *out, const char *text);
void out_blanks(struct out *out, size_t count);
void out_fail(struct out *out, int err); /* keep err, if it is the first */
int out_finish(struct out *out);         /* flush; 0 or the first -errno */

#endif
