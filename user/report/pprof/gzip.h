/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output compressed with zlib. */
#ifndef MTRACE_REPORT_PPROF_GZIP_H
#define MTRACE_REPORT_PPROF_GZIP_H

#include <stddef.h>
#include <zlib.h>

#include "report/common/out.h"

/* Errors are recorded in `out`, which must outlive this. */
struct gzip {
	struct out *out;
	z_stream stream;
};

void gzip_open(struct gzip *gzip, struct out *out);
void gzip_put(struct gzip *gzip, const void *bytes, size_t size);
/* Writes the trailer and frees the stream. */
void gzip_close(struct gzip *gzip);

#endif
