/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory for the frames of stacks, which never change. The store of a child is based on its
 * parent's: the frames of inherited stacks are not copied.
 */
#ifndef MTRACE_MODEL_SITE_FRAMES_H
#define MTRACE_MODEL_SITE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

struct frame_store;

/* Copies the frames to *store (which is created if NULL). Returns the copy; NULL if out of
 * memory. */
const uint64_t *frame_store_keep(struct frame_store **store, const uint64_t *frames,
				 uint32_t count);
/* Creates a store that keeps everything in another one (or NULL) alive. Returns 0 or -ENOMEM. */
int frame_store_branch(struct frame_store **ret_store, struct frame_store *base);
/* Returns the memory use of a store (NULL: 0), without what it is based on, in bytes. */
size_t frame_store_bytes(const struct frame_store *store);
/* Keeps what other stores are based on; NULL is fine. */
void frame_store_free(struct frame_store *store);

#endif
