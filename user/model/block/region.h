/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mmap'd regions of a process. A region is what one mmap or mremap returned. Other calls may
 * cut parts out of it; what remains are pieces [start, end). Pieces never overlap. See region.c.
 */
#ifndef MTRACE_MODEL_BLOCK_REGION_H
#define MTRACE_MODEL_BLOCK_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define PIECE_NONE 0

struct region {
	uint64_t bytes; /* that are not released yet; 0: the record is free */
	uint32_t site;  /* index of its site in the process, or SITE_NONE */
	uint32_t time;  /* as in struct block */
};

struct piece {
	uint64_t start;
	uint64_t end;
	uint32_t region; /* index of its region */
	uint32_t priority;
	uint32_t left; /* for a piece in a list: the next one */
	uint32_t right;
};

/* An all-zero set is empty. */
struct regions {
	VEC(struct region) regions;
	VEC(uint32_t) spare_regions;
	VEC(struct piece) pieces; /* the piece with number n is items[n - 1] */
	uint32_t spare_pieces;    /* list */
	uint32_t root;            /* of the tree of pieces */
	uint32_t random;
};

/* Adds a region with one piece. Nothing may be at these addresses. Returns 0 or -ENOMEM. */
int regions_add(struct regions *set, uint64_t start, uint64_t end, uint32_t site, uint32_t time);

/*
 * Moves everything in [start, end) from the set to the front of *list. A list starts as PIECE_NONE
 * and must be passed to regions_release or regions_restore. Returns 0 or -ENOMEM.
 */
int regions_cut(struct regions *set, uint64_t start, uint64_t end, uint32_t *list);

/* Called for bytes of a region that are gone; `last` tells if they were the last ones. */
typedef void region_gone(void *ctx, uint32_t site, uint64_t bytes, bool last);

/* Releases the pieces of a list for good. */
void regions_release(struct regions *set, uint32_t list, region_gone *gone, void *ctx);

/*
 * Puts the pieces of a list back. Bytes whose addresses are in use again are reported as gone. On
 * -ENOMEM, pieces that could not be put back are also gone.
 */
int regions_restore(struct regions *set, uint32_t list, region_gone *gone, void *ctx);

/* Returns the first piece that ends after an address, or NULL. Valid until the set changes. */
const struct piece *regions_at(const struct regions *set, uint64_t address);

/*
 * Rebuild a saved set: first enter all regions in their order, including free ones, then all
 * pieces. If `list` is NULL, the piece goes into the set and must not overlap others; otherwise to
 * the front of *list. Return 0 or -ENOMEM.
 */
int regions_enter(struct regions *set, const struct region *region);
int regions_enter_piece(struct regions *set, const struct piece *piece, uint32_t *list);

/* Makes *ret_copy an independent copy, in which lists keep their numbers. Returns 0 or -ENOMEM. */
int regions_copy(struct regions *ret_copy, const struct regions *set);

void regions_free(struct regions *set);

#endif
