/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pieces of mmap'd regions, ordered by address in a treap (Seidel and Aragon, Algorithmica 16,
 * 1996): a search tree by address that is also a heap by random priority, and therefore balanced on
 * average whatever the target does. A sorted array would be smaller, but mmap returns addresses
 * from the top down, so nearly every insertion would move the whole array: 100,000 regions would
 * cost gigabytes of copying. Here every operation takes O(log n) steps, plus one for each piece
 * that it removes.
 *
 * A treap can be split at an address, and two adjacent treaps can be merged. So to cut out a range,
 * divide the pieces that straddle its ends, split twice, and merge the outer trees. Regions and
 * pieces are in vectors and are referred to by number, because they move when the vectors grow.
 */
#include "model/block/region.h"

#define REGION_SEED 0x9e3779b9u

static struct piece *piece_at(const struct regions *set, uint32_t number)
{
	return &set->pieces.items[number - 1];
}

/* Guarantees that the next `count` calls of piece_new succeed. */
static int pieces_reserve(struct regions *set, size_t count)
{
	for (uint32_t spare = set->spare_pieces; spare && count; count--)
		spare = piece_at(set, spare)->left;
	return vec_reserve(&set->pieces, set->pieces.count + count);
}

/* xorshift32 (Marsaglia, 2003). */
static uint32_t regions_random(struct regions *set)
{
	uint32_t x = set->random ? set->random : REGION_SEED;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return set->random = x;
}

static uint32_t piece_new(struct regions *set, uint64_t start, uint64_t end, uint32_t region)
{
	uint32_t number = set->spare_pieces;

	if (number)
		set->spare_pieces = piece_at(set, number)->left;
	else
		number = (uint32_t)++set->pieces.count;
	*piece_at(set, number) = (struct piece){
		.start = start, .end = end, .region = region, .priority = regions_random(set)};
	return number;
}

static void piece_recycle(struct regions *set, uint32_t number)
{
	piece_at(set, number)->left = set->spare_pieces;
	set->spare_pieces = number;
}

/* Pieces that start below the address go to the left tree, the others to the right. */
static void tree_split(struct regions *set, uint32_t tree, uint64_t address, uint32_t *ret_left,
		       uint32_t *ret_right)
{
	struct piece *root;

	if (!tree) {
		*ret_left = *ret_right = PIECE_NONE;
		return;
	}
	root = piece_at(set, tree);
	if (root->start < address) {
		tree_split(set, root->right, address, &root->right, ret_right);
		*ret_left = tree;
	} else {
		tree_split(set, root->left, address, ret_left, &root->left);
		*ret_right = tree;
	}
}

/* Merges two trees. All pieces of `left` must be below all pieces of `right`. */
static uint32_t tree_merge(struct regions *set, uint32_t left, uint32_t right)
{
	struct piece *l, *r;

	if (!left || !right)
		return left ? left : right;
	l = piece_at(set, left);
	r = piece_at(set, right);
	if (l->priority > r->priority) {
		l->right = tree_merge(set, l->right, right);
		return left;
	}
	r->left = tree_merge(set, left, r->left);
	return right;
}

static void tree_insert(struct regions *set, uint32_t number)
{
	uint32_t left, right;

	tree_split(set, set->root, piece_at(set, number)->start, &left, &right);
	set->root = tree_merge(set, tree_merge(set, left, number), right);
}

/* Prepends the pieces of a tree, in order, to a list. */
static uint32_t tree_to_list(struct regions *set, uint32_t tree, uint32_t list)
{
	struct piece *root;
	uint32_t left;

	if (!tree)
		return list;
	root = piece_at(set, tree);
	left = root->left;
	root->left = tree_to_list(set, root->right, list);
	root->right = PIECE_NONE;
	return tree_to_list(set, left, tree);
}

/* Returns the number of the first piece that ends after the address. */
static uint32_t tree_find(const struct regions *set, uint64_t address)
{
	uint32_t found = PIECE_NONE;

	for (uint32_t tree = set->root; tree;) {
		const struct piece *piece = piece_at(set, tree);

		if (piece->end > address) {
			found = tree;
			tree = piece->left;
		} else {
			tree = piece->right;
		}
	}
	return found;
}

/* Divides the piece that straddles the address, if there is one. Needs one reserved piece. */
static void divide(struct regions *set, uint64_t address)
{
	uint32_t number = tree_find(set, address);
	struct piece *lower;
	uint64_t end;

	if (!number || piece_at(set, number)->start >= address)
		return;
	lower = piece_at(set, number);
	end = lower->end;
	lower->end = address;
	tree_insert(set, piece_new(set, address, end, lower->region));
}

static int region_new(struct regions *set, const struct region *region, uint32_t *ret_index)
{
	if (set->spare_regions.count) {
		*ret_index = set->spare_regions.items[--set->spare_regions.count];
		set->regions.items[*ret_index] = *region;
		return 0;
	}
	/* Reserve space to recycle it, so that releasing a region cannot fail. */
	if (vec_reserve(&set->spare_regions, set->regions.count + 1) ||
	    vec_push(&set->regions, *region))
		return -ENOMEM;
	*ret_index = (uint32_t)set->regions.count - 1;
	return 0;
}

static void region_shrink(struct regions *set, uint32_t index, uint64_t bytes, region_gone *gone,
			  void *ctx)
{
	struct region *region = &set->regions.items[index];

	region->bytes -= bytes;
	if (!region->bytes)
		set->spare_regions.items[set->spare_regions.count++] = index;
	gone(ctx, region->site, bytes, !region->bytes);
}

int regions_add(struct regions *set, uint64_t start, uint64_t end, uint32_t site, uint32_t time)
{
	struct region region = {.bytes = end - start, .site = site, .time = time};
	uint32_t index;

	if (pieces_reserve(set, 1) || region_new(set, &region, &index))
		return -ENOMEM;
	tree_insert(set, piece_new(set, start, end, index));
	return 0;
}

int regions_cut(struct regions *set, uint64_t start, uint64_t end, uint32_t *list)
{
	uint32_t left, middle, right;

	if (start >= end)
		return 0;
	if (pieces_reserve(set, 2))
		return -ENOMEM;
	divide(set, start);
	divide(set, end);
	tree_split(set, set->root, start, &left, &middle);
	tree_split(set, middle, end, &middle, &right);
	set->root = tree_merge(set, left, right);
	*list = tree_to_list(set, middle, *list);
	return 0;
}

void regions_release(struct regions *set, uint32_t list, region_gone *gone, void *ctx)
{
	while (list) {
		struct piece piece = *piece_at(set, list);

		piece_recycle(set, list);
		region_shrink(set, piece.region, piece.end - piece.start, gone, ctx);
		list = piece.left;
	}
}

/* Puts [start, end) back into the tree; if out of memory, reports it as gone. */
static int piece_put(struct regions *set, const struct piece *piece, uint64_t start, uint64_t end,
		     region_gone *gone, void *ctx)
{
	if (start >= end)
		return 0;
	if (pieces_reserve(set, 1)) {
		region_shrink(set, piece->region, end - start, gone, ctx);
		return -ENOMEM;
	}
	tree_insert(set, piece_new(set, start, end, piece->region));
	return 0;
}

static uint64_t lower_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t higher_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Walks through the range of the piece: fills holes, and reports parts that are taken as gone. */
static int piece_restore(struct regions *set, const struct piece *piece, region_gone *gone,
			 void *ctx)
{
	uint64_t at = piece->start;
	int err = 0;

	while (at < piece->end) {
		const struct piece *taken = regions_at(set, at);
		uint64_t taken_start = piece->end, taken_end = piece->end;

		if (taken && taken->start < piece->end) {
			taken_start = higher_of(taken->start, at);
			taken_end = lower_of(taken->end, piece->end);
		}
		if (piece_put(set, piece, at, taken_start, gone, ctx))
			err = -ENOMEM;
		if (taken_start < taken_end)
			region_shrink(set, piece->region, taken_end - taken_start, gone, ctx);
		at = taken_end;
	}
	return err;
}

int regions_restore(struct regions *set, uint32_t list, region_gone *gone, void *ctx)
{
	int err = 0;

	while (list) {
		struct piece piece = *piece_at(set, list);

		piece_recycle(set, list);
		if (piece_restore(set, &piece, gone, ctx))
			err = -ENOMEM;
		list = piece.left;
	}
	return err;
}

const struct piece *regions_at(const struct regions *set, uint64_t address)
{
	uint32_t number = tree_find(set, address);

	return number ? piece_at(set, number) : NULL;
}

int regions_enter(struct regions *set, const struct region *region)
{
	if (vec_reserve(&set->spare_regions, set->regions.count + 1) ||
	    vec_push(&set->regions, *region))
		return -ENOMEM;
	if (!region->bytes)
		set->spare_regions.items[set->spare_regions.count++] =
			(uint32_t)set->regions.count - 1;
	return 0;
}

int regions_enter_piece(struct regions *set, const struct piece *piece, uint32_t *list)
{
	uint32_t number;

	if (pieces_reserve(set, 1))
		return -ENOMEM;
	number = piece_new(set, piece->start, piece->end, piece->region);
	if (!list) {
		tree_insert(set, number);
		return 0;
	}
	piece_at(set, number)->left = *list;
	*list = number;
	return 0;
}

int regions_copy(struct regions *ret_copy, const struct regions *set)
{
	struct regions copy = {
		.spare_pieces = set->spare_pieces, .root = set->root, .random = set->random};

	/* Reserve space to recycle every region: see region_new. */
	if (vec_copy(&copy.regions, &set->regions) || vec_copy(&copy.pieces, &set->pieces) ||
	    vec_copy(&copy.spare_regions, &set->spare_regions) ||
	    vec_reserve(&copy.spare_regions, set->regions.count)) {
		regions_free(&copy);
		return -ENOMEM;
	}
	*ret_copy = copy;
	return 0;
}

void regions_free(struct regions *set)
{
	vec_free(&set->regions);
	vec_free(&set->spare_regions);
	vec_free(&set->pieces);
	*set = (struct regions){0};
}
