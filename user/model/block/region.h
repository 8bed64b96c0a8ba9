/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mmap'd regions of a process. A region is what one mmap or mremap returned; other calls may
 * cut it, so that what is left of it are pieces [start, end). Pieces never overlap. See region.c.
 */
#ifndef MTRACE_MODEL_BLOCK_REGION_H
#define MTRACE_MODEL_BLOCK_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define PIECE_NONE 0

struct region {
	uint64_t bytes; /* that no one has released yet; 0: the record is spare */
	uint32_t site;  /* index in the process's sites, or SITE_NONE */
	uint32_t time;  /* as struct block's */
};

struct piece {
	uint64_t start;
	uint64_t end;
	uint32_t region; /* index */
	uint32_t priority;
	uint32_t left; /* of a piece in a list: the next one */
	uint32_t right;
};

/* Zeroed memory is an empty set. */
struct regions {
	VEC(struct region) regions;
	VEC(uint32_t) spare_regions;
	VEC(struct piece) pieces; /* the piece with number n is items[n - 1] */
	uint32_t spare_pieces;    /* list */
	uint32_t root;            /* of the tree of pieces */
	uint32_t random;
};

/* A new region of one piece, where nothing lies. 0 or -ENOMEM. */
int regions_add(struct regions *set, uint64_t start, uint64_t end, uint32_t site, uint32_t time);

/*
 * Take everything in [start, end) out of the set and put it before *list: a list of pieces that
 * begins as PIECE_NONE and ends in regions_release or regions_restore. 0 or -ENOMEM.
 */
int regions_cut(struct regions *set, uint64_t start, uint64_t end, uint32_t *list);

/* Told of bytes of a region that are gone, and if they were its last. */
typedef void region_gone(void *ctx, uint32_t site, uint64_t bytes, bool last);

/* The pieces of a list are gone for good. */
void regions_release(struct regions *set, uint32_t list, region_gone *gone, void *ctx);

/*
 * Put the pieces of a list back; those bytes are gone whose addresses are taken again. On -ENOMEM
 * what could not be put back is gone, too.
 */
int regions_restore(struct regions *set, uint32_t list, region_gone *gone, void *ctx);

/* The first piece that ends behind an address; NULL if there is none. Valid until a change. */
const struct piece *regions_at(const struct regions *set, uint64_t address);

/*
 * For sets that are kept elsewhere, and become the same here: first all regions, in their order,
 * spare ones as well, then all pieces. Those in no list lie in the set, and must not overlap; the
 * others come before *list. 0 or -ENOMEM.
 */
int regions_enter(struct regions *set, const struct region *region);
int regions_enter_piece(struct regions *set, const struct piece *piece, uint32_t *list);

/* *ret_copy: a set of its own, in which lists keep their numbers. 0 or -ENOMEM. */
int regions_copy(struct regions *ret_copy, const struct regions *set);

void regions_free(struct regions *set);

#endif
