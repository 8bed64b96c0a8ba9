/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compression with zstd, if it is built in (WITH_ZSTD=1; otherwise without_squeeze.c reports that
 * it is missing). */
#ifndef MTRACE_NET_STREAM_SQUEEZE_H
#define MTRACE_NET_STREAM_SQUEEZE_H

#include <stdbool.h>
#include <stddef.h>

struct squeeze;

/* Returns true if zstd is built in. */
bool squeeze_is_known(void);
/* Returns 0, -ENOMEM or -EOPNOTSUPP. The object can compress and decompress. */
int squeeze_new(struct squeeze **ret_squeeze);
void squeeze_free(struct squeeze *squeeze); /* NULL is fine */

/* Maximum compressed size of `size` bytes. */
size_t squeeze_bound(size_t size);
/* Compresses. Returns the number of bytes written to `to`, or 0 on failure. */
size_t squeeze_bytes(struct squeeze *squeeze, void *to, size_t room, const void *from, size_t size);
/* Decompresses `room` bytes to exactly `size` bytes. Returns 0 or -EBADMSG. */
int unsqueeze_bytes(struct squeeze *squeeze, void *to, size_t size, const void *from, size_t room);

#endif
