/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory for the frames of stacks, which never change once they are there. A child's store stands
 * on that of its parent: what its stacks had when it was born stays where it is.
 */
#ifndef MTRACE_MODEL_SITE_FRAMES_H
#define MTRACE_MODEL_SITE_FRAMES_H

#include <stdint.h>

struct frame_store;

/* A copy of the frames, in *store (made if it is NULL); NULL if out of memory. */
const uint64_t *frame_store_keep(struct frame_store **store, const uint64_t *frames,
				 uint32_t count);
/* *ret_store: a store that keeps all that another one (or NULL) has. 0 or -ENOMEM. */
int frame_store_branch(struct frame_store **ret_store, struct frame_store *base);
void frame_store_free(struct frame_store *store); /* what others stand on stays; NULL is fine */

#endif
