/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output that remembers its first error. Writers need not check each call, nothing is written after
 * a failed write, and the errno of that write (ENOSPC, EPIPE) reaches the caller. The file is not
 * locked: only one thread may write.
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
void out_fail(struct out *out, int err); /* keeps err if it is the first one */
int out_finish(struct out *out);         /* flushes; returns 0 or the first -errno */

#endif
