/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The backlog of a server: the stream from its beginning, or from where it was let go, so that
 * whoever comes, or comes back, can be sent what it has not got. In memory, in pieces that are
 * taken when they are needed.
 */
#ifndef MTRACE_NET_PROTOCOL_SPILL_H
#define MTRACE_NET_PROTOCOL_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* Zeroed memory is empty. */
struct spill {
	VEC(uint8_t *) pieces;
	uint64_t begin; /* offsets in the stream: of the first byte that is kept … */
	uint64_t end;   /* … and behind the last one */
};

void spill_free(struct spill *spill);
/* All of it, or -ENOMEM. */
int spill_add(struct spill *spill, const void *bytes, size_t size);
/* Bytes from `offset` on, which is kept, as many as lie together; 0 at the end. */
size_t spill_at(const struct spill *spill, uint64_t offset, const uint8_t **ret_bytes);
/* What is before this is not needed any more. */
void spill_let_go(struct spill *spill, uint64_t offset);

#endif
