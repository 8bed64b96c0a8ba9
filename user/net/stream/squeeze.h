/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compression by zstd, where it is built in (WITH_ZSTD=1; otherwise without_squeeze.c reports that
 * it is missing).
 */
#ifndef MTRACE_NET_STREAM_SQUEEZE_H
#define MTRACE_NET_STREAM_SQUEEZE_H

#include <stdbool.h>
#include <stddef.h>

struct squeeze;

/* Is it there? */
bool squeeze_is_known(void);
/* 0, -ENOMEM, or -EOPNOTSUPP. Serves both directions. */
int squeeze_new(struct squeeze **ret_squeeze);
void squeeze_free(struct squeeze *squeeze); /* NULL is fine */

/* The most that `size` bytes can become. */
size_t squeeze_bound(size_t size);
/* Bytes written to `to`, or 0 if it did not work. */
size_t squeeze_bytes(struct squeeze *squeeze, void *to, size_t room, const void *from, size_t size);
/* Exactly `size` bytes into `to`: 0, or -EBADMSG. */
int unsqueeze_bytes(struct squeeze *squeeze, void *to, size_t size, const void *from, size_t room);

#endif
