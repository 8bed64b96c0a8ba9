/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/pprof/gzip.h"

#include <errno.h>

#define LEVEL  6
#define WINDOW (16 + 15) /* gzip's header and trailer instead of zlib's */
#define MEMORY 8         /* zlib's default */

void gzip_open(struct gzip *gzip, struct out *out)
{
	*gzip = (struct gzip){.out = out};
	if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY))
		out_fail(out, -ENOMEM);
}

static void deflate_all(struct gzip *gzip, int flush)
{
	Bytef buffer[16384];

	do {
		gzip->stream.next_out = buffer;
		gzip->stream.avail_out = sizeof(buffer);
		if (deflate(&gzip->stream, flush) == Z_STREAM_ERROR) {
			out_fail(gzip->out, -EIO);
			return;
		}
		out_bytes(gzip->out, (const char *)buffer, sizeof(buffer) - gzip->stream.avail_out);
	} while (!gzip->stream.avail_out);
}

void gzip_put(struct gzip *gzip, const void *bytes, size_t size)
{
	if (gzip->out->err || !size)
		return;
	gzip->stream.next_in = (z_const Bytef *)bytes;
	gzip->stream.avail_in = (uInt)size;
	deflate_all(gzip, Z_NO_FLUSH);
}

void gzip_close(struct gzip *gzip)
{
	if (!gzip->out->err)
		deflate_all(gzip, Z_FINISH);
	deflateEnd(&gzip->stream);
}
