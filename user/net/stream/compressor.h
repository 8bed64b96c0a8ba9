/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compression with zstd, if it is built in (WITH_ZSTD=1; otherwise without_compressor.c reports
 * that it is missing). */
#ifndef MTRACE_NET_STREAM_COMPRESSOR_H
#define MTRACE_NET_STREAM_COMPRESSOR_H

#include <stdbool.h>
#include <stddef.h>

struct compressor;

/* Returns true if zstd is built in. */
bool compressor_is_built_in(void);
/* Returns 0, -ENOMEM or -EOPNOTSUPP. The object can compress and decompress. */
int compressor_new(struct compressor **ret_compressor);
void compressor_free(struct compressor *compressor); /* NULL is fine */

/* Maximum compressed size of `size` bytes. */
size_t compressed_bound(size_t size);
/* Compresses. Returns the number of bytes written to `to`, or 0 on failure. */
size_t compress(struct compressor *compressor, void *to, size_t room, const void *from,
		size_t size);
/* Decompresses `room` bytes to exactly `size` bytes. Returns 0 or -EBADMSG. */
int decompress(struct compressor *compressor, void *to, size_t size, const void *from, size_t room);

#endif
