/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The backlog of a server: the stream from its beginning, or from the point up to which it was
 * discarded. New and reconnecting clients get what they are missing from it. It is in memory, in
 * pieces that are allocated on demand.
 */
#ifndef MTRACE_NET_PROTOCOL_BACKLOG_H
#define MTRACE_NET_PROTOCOL_BACKLOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* An all-zero backlog is empty. */
struct backlog {
	VEC(uint8_t *) pieces;
	uint64_t begin; /* offset in the stream of the first byte that is kept … */
	uint64_t end;   /* … and of the byte after the last one */
};

void backlog_free(struct backlog *backlog);
/* Appends all bytes, or returns -ENOMEM. */
int backlog_add(struct backlog *backlog, const void *bytes, size_t size);
/* Finds the bytes at `offset`, which must not be before `begin`. Returns how many are contiguous; 0
 * at the end. */
size_t backlog_at(const struct backlog *backlog, uint64_t offset, const uint8_t **ret_bytes);
/* Discards everything before `offset`. */
void backlog_discard(struct backlog *backlog, uint64_t offset);

#endif
