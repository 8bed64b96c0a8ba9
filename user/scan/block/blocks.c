/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "Which block does this word point into?" is asked once for every word that passes the filter: in
 * a heap full of pointers, a hundred million times per GiB, against a million blocks. A binary
 * search would take twenty dependent steps, most of them cache misses.
 *
 * - Blocks are grouped into spans, which end where a large part of the address space is empty. So a
 *   block's place in its span fits 32 bits. Starts and sizes are kept apart, because a pointer to a
 *   start does not need the size.
 * - A span is cut into equal buckets, whose width is a power of two. There are at most three
 * buckets for four blocks, and at least half as many. A bucket knows the first block in it or
 * after it. Four starts are compared at once from there on. If a bucket has more blocks, a binary
 * search covers the rest. Each span ends with four starts greater than any other, so no comparison
 * needs a bound.
 * - Words are looked up in groups: first all their buckets are fetched, then the starts, and then
 *   these are compared. So the cache misses of a group overlap.
 *
 * Memory: 16 bytes per block while blocks are added, then 6 bytes, and 1.5 to 3 for the buckets.
 * Most blocks are small, so a size has 16 bits, and a list holds the larger ones; if that list
 * would be long, a size has 32 bits. If gaps would cut the heap into very many spans, a wider gap
 * is chosen, so that spans and their padding stay few. Blocks are sorted in place by radix
 * (McIlroy, Bostic, McIlroy: Engineering Radix Sort, 1993), in linear time.
 */
#include "scan/block/blocks.h"

#include <errno.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "scan/block/table.h"

#define PAD       4             /* slots after a span */
#define FIRST_GAP (1ULL << 20)  /* bytes without a block that end a span */
#define SPAN_MAX  0xfffffff0ULL /* bytes from its base to the start of its last block */
#define GROUP     64

#define LARGE_SHARE 128 /* one block in this many may be in the list of large ones */

int blocks_reserve(struct blocks *blocks, size_t count)
{
	struct sized_block *items;

	if (count <= blocks->raw.capacity)
		return 0;
	if (count > SIZE_MAX / sizeof(*items))
		return -ENOMEM;
	items = table_alloc(count * sizeof(*items));
	if (!items)
		return -ENOMEM;
	if (blocks->raw.count)
		memcpy(items, blocks->raw.items, blocks->raw.count * sizeof(*items));
	free(blocks->raw.items);
	blocks->raw.items = items;
	blocks->raw.capacity = count;
	return 0;
}

int blocks_add(struct blocks *blocks, uint64_t address, uint64_t size)
{
	return vec_push(&blocks->raw, (struct sized_block){.address = address, .size = size});
}

static uint64_t block_end(const struct sized_block *block)
{
	return block->address + (block->size ? block->size : 1);
}

/* Makes addresses unique and blocks disjoint, and cuts blocks at the end of the address space. */
static void make_disjoint(struct blocks *blocks)
{
	struct sized_block *items = blocks->raw.items;
	size_t kept = 0;

	for (size_t i = 0; i < blocks->raw.count; i++) {
		struct sized_block *last = kept ? &items[kept - 1] : NULL;

		if (last && last->address == items[i].address) {
			if (last->size < items[i].size)
				last->size = items[i].size;
			continue;
		}
		items[kept++] = items[i];
	}
	for (size_t i = 0; i < kept; i++) {
		uint64_t limit = i + 1 < kept ? items[i + 1].address : UINT64_MAX;

		if (items[i].size > limit - items[i].address)
			items[i].size = limit - items[i].address;
	}
	blocks->raw.count = kept;
}

static bool begins_span(const struct sized_block *items, size_t i, uint64_t base, uint64_t gap)
{
	return items[i].address - base > SPAN_MAX ||
	       items[i].address - block_end(&items[i - 1]) >= gap;
}

static size_t count_spans(const struct blocks *blocks, uint64_t gap)
{
	const struct sized_block *items = blocks->raw.items;
	uint64_t base = items[0].address;
	size_t count = 1;

	for (size_t i = 1; i < blocks->raw.count; i++) {
		if (!begins_span(items, i, base, gap))
			continue;
		base = items[i].address;
		count++;
	}
	return count;
}

static int add_span(struct blocks *blocks, size_t first, size_t behind)
{
	const struct sized_block *items = blocks->raw.items;

	return vec_push(&blocks->spans, (struct span){.base = items[first].address,
						      .end = block_end(&items[behind - 1]),
						      .first = (uint32_t)first,
						      .count = (uint32_t)(behind - first)});
}

static int make_spans(struct blocks *blocks)
{
	const struct sized_block *items = blocks->raw.items;
	uint64_t gap = FIRST_GAP;
	size_t first = 0;

	while (count_spans(blocks, gap) > blocks->raw.count / 16 + 64 && gap < SPAN_MAX)
		gap *= 2;
	for (size_t i = 1; i < blocks->raw.count; i++) {
		if (!begins_span(items, i, items[first].address, gap))
			continue;
		if (add_span(blocks, first, i))
			return -ENOMEM;
		first = i;
	}
	return add_span(blocks, first, blocks->raw.count);
}

/* Chooses between sizes of 16 and 32 bits. */
static void choose_sizes(struct blocks *blocks)
{
	const struct sized_block *block;
	size_t large = 0;

	vec_each (block, &blocks->raw)
		large += block->size >= UINT16_MAX;
	blocks->size_is_large = large > blocks->raw.count / LARGE_SHARE ? UINT32_MAX : UINT16_MAX;
}

/*
 * Packs in place: offset << 32 | size takes half of the original memory. The other half is
 * returned.
 */
static int pack_raw(struct blocks *blocks, uint64_t **ret_packed)
{
	const uint32_t large = blocks->size_is_large;
	uint64_t *packed = (uint64_t *)(void *)blocks->raw.items;
	const struct span *span;

	vec_each (span, &blocks->spans) {
		for (size_t i = span->first; i < span->first + span->count; i++) {
			struct sized_block block = blocks->raw.items[i];
			uint64_t size = block.size < large ? block.size : large;

			if (size == large && vec_push(&blocks->large, block))
				return -ENOMEM;
			packed[i] = (block.address - span->base) << 32 | size;
			blocks->total += block.size;
		}
	}
	*ret_packed = realloc(blocks->raw.items, blocks->raw.count * sizeof(*packed));
	if (!*ret_packed)
		return -ENOMEM;
	blocks->count = (uint32_t)blocks->raw.count;
	blocks->raw.items = NULL;
	vec_free(&blocks->raw);
	return 0;
}

static int alloc_slots(struct blocks *blocks)
{
	size_t slots = blocks->count + PAD * blocks->spans.count;
	bool upper = blocks->size_is_large > UINT16_MAX;

	blocks->slots = (uint32_t)slots;
	blocks->starts = table_alloc(slots * sizeof(*blocks->starts));
	blocks->sizes = table_alloc(slots * sizeof(*blocks->sizes));
	if (upper)
		blocks->sizes_upper = table_alloc(slots * sizeof(*blocks->sizes_upper));
	blocks->bytes = slots * (sizeof(*blocks->starts) + (1U + upper) * sizeof(*blocks->sizes));
	return blocks->starts && blocks->sizes && (!upper || blocks->sizes_upper) ? 0 : -ENOMEM;
}

static void set_slot(struct blocks *blocks, uint32_t slot, uint32_t start, uint32_t size)
{
	blocks->starts[slot] = start;
	blocks->sizes[slot] = (uint16_t)size;
	if (blocks->sizes_upper)
		blocks->sizes_upper[slot] = (uint16_t)(size >> 16);
}

/* Separates starts and sizes, and makes the spans. */
static int unpack(struct blocks *blocks, const uint64_t *packed)
{
	uint32_t slot = 0;
	struct span *span;

	if (alloc_slots(blocks))
		return -ENOMEM;
	vec_each (span, &blocks->spans) {
		const uint64_t *first = packed + span->first;

		span->first = slot;
		for (uint32_t i = 0; i < span->count; i++, slot++)
			set_slot(blocks, slot, (uint32_t)(first[i] >> 32), (uint32_t)first[i]);
		for (uint32_t i = 0; i < PAD; i++, slot++)
			set_slot(blocks, slot, BLOCKS_NO_START, 0);
	}
	return 0;
}

static int pack(struct blocks *blocks)
{
	uint64_t *packed;
	int err;

	choose_sizes(blocks);
	err = pack_raw(blocks, &packed);

	if (err)
		return err;
	err = unpack(blocks, packed);
	free(packed);
	return err;
}

static uint64_t last_offset(const struct blocks *blocks, const struct span *span)
{
	return blocks->starts[span->first + span->count - 1];
}

static size_t choose_buckets(struct blocks *blocks)
{
	size_t total = 0;
	struct span *span;

	vec_each (span, &blocks->spans) {
		uint64_t last = last_offset(blocks, span);

		while ((last >> span->shift) + 1 > span->count / 4 * 3 + 1)
			span->shift++;
		span->bucket_count = (uint32_t)(last >> span->shift) + 1;
		span->table = (uint32_t)total;
		total += span->bucket_count + 1;
	}
	return total;
}

static void fill_buckets(struct blocks *blocks, const struct span *span)
{
	uint32_t *table = blocks->buckets + span->table;
	uint32_t behind = span->first + span->count;
	uint32_t slot = span->first;

	for (uint32_t i = 0; i <= span->bucket_count; i++) {
		while (slot < behind && blocks->starts[slot] >> span->shift < i)
			slot++;
		table[i] = slot;
	}
}

static int make_buckets(struct blocks *blocks)
{
	size_t total = choose_buckets(blocks);
	const struct span *span;

	blocks->buckets = table_alloc(total * sizeof(*blocks->buckets));
	if (!blocks->buckets)
		return -ENOMEM;
	vec_each (span, &blocks->spans)
		fill_buckets(blocks, span);
	blocks->bytes += blocks->spans.capacity * sizeof(*blocks->spans.items) +
			 blocks->large.capacity * sizeof(*blocks->large.items) +
			 total * sizeof(*blocks->buckets);
	return 0;
}

int blocks_seal(struct blocks *blocks)
{
	if (!blocks->raw.count)
		return 0;
	sort_blocks(blocks->raw.items, blocks->raw.count);
	make_disjoint(blocks);
	if (blocks->raw.count > SLOT_LIMIT / 2)
		return -EFBIG;
	if (make_spans(blocks) || pack(blocks) || make_buckets(blocks))
		return -ENOMEM;
	blocks->low = blocks->spans.items[0].base;
	blocks->high = blocks->spans.items[blocks->spans.count - 1].end;
	return 0;
}

void blocks_free(struct blocks *blocks)
{
	vec_free(&blocks->raw);
	vec_free(&blocks->spans);
	vec_free(&blocks->large);
	free(blocks->starts);
	free(blocks->sizes);
	free(blocks->sizes_upper);
	free(blocks->buckets);
	*blocks = (struct blocks){0};
}

size_t blocks_span(const struct blocks *blocks, uint32_t slot)
{
	size_t low = 0, high = blocks->spans.count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (blocks->spans.items[middle].first <= slot)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint64_t blocks_address(const struct blocks *blocks, uint32_t slot)
{
	return blocks->spans.items[blocks_span(blocks, slot)].base + blocks->starts[slot];
}

/* The block must be in the list. */
static uint64_t large_size(const struct blocks *blocks, uint64_t address)
{
	size_t low = 0, high = blocks->large.count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (blocks->large.items[middle].address <= address)
			low = middle;
		else
			high = middle;
	}
	return blocks->large.items[low].size;
}

static uint64_t size_at(const struct blocks *blocks, uint32_t slot, uint64_t address)
{
	uint32_t size = blocks_packed_size(blocks, slot);

	return size == blocks->size_is_large ? large_size(blocks, address) : size;
}

uint64_t blocks_size(const struct blocks *blocks, uint32_t slot)
{
	uint32_t size = blocks_packed_size(blocks, slot);

	return size == blocks->size_is_large ? large_size(blocks, blocks_address(blocks, slot))
					     : size;
}

size_t blocks_span_below(const struct blocks *blocks, uint64_t address)
{
	size_t low = 0, high = blocks->spans.count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (blocks->spans.items[middle].base <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * If four comparisons were not enough: finds the last block of the bucket that starts at or below.
 */
static uint32_t search_bucket(const struct blocks *blocks, uint32_t low, uint32_t high,
			      uint32_t start)
{
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (blocks->starts[middle] <= start)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Returns how many of four ascending starts are at or below the given one. */
static inline uint32_t count_below(const uint32_t *starts, uint32_t start)
{
#if defined(__SSE2__)
	__m128i flip = _mm_set1_epi32((int)0x80000000);
	__m128i four = _mm_xor_si128(_mm_loadu_si128((const void *)starts), flip);
	__m128i above = _mm_cmpgt_epi32(four, _mm_xor_si128(_mm_set1_epi32((int)start), flip));

	return (uint32_t)__builtin_ctz((unsigned int)_mm_movemask_ps(_mm_castsi128_ps(above)) | 16);
#else
	return (starts[0] <= start) + (starts[1] <= start) + (starts[2] <= start) +
	       (starts[3] <= start);
#endif
}

static inline uint32_t bucket_of(const struct span *span, uint64_t offset)
{
	uint64_t bucket = offset >> span->shift;

	return span->table + (uint32_t)(bucket < span->bucket_count ? bucket : span->bucket_count);
}

/* Returns the last block that starts at or below the offset. `slot` is the first of its bucket. */
static inline uint32_t slot_from(const struct blocks *blocks, const struct span *span,
				 uint64_t offset, uint32_t bucket, uint32_t slot)
{
	/* Above SPAN_MAX there is only the interior of the last block. */
	uint32_t start = offset < SPAN_MAX ? (uint32_t)offset : (uint32_t)SPAN_MAX;
	uint32_t below = count_below(blocks->starts + slot, start);

	if (below == 4 && bucket < span->table + span->bucket_count)
		return search_bucket(blocks, slot + 3, blocks->buckets[bucket + 1], start);
	return slot + below - 1;
}

/* The same for an offset within the span. */
static uint32_t slot_below(const struct blocks *blocks, const struct span *span, uint64_t offset)
{
	uint32_t bucket = bucket_of(span, offset);

	return slot_from(blocks, span, offset, bucket, blocks->buckets[bucket]);
}

uint32_t blocks_at(const struct blocks *blocks, uint64_t address)
{
	const struct span *span;
	uint32_t slot;

	if (!blocks->count || address < blocks->low || address >= blocks->high)
		return SLOT_NONE;
	span = &blocks->spans.items[blocks_span_below(blocks, address)];
	if (address >= span->end)
		return SLOT_NONE;
	slot = slot_below(blocks, span, address - span->base);
	return blocks->starts[slot] == address - span->base ? slot : SLOT_NONE;
}

/* Words that point into the same span. */
struct span_words {
	const struct span *span;
	size_t count;
	uint64_t offsets[GROUP];
	uint32_t tags[GROUP];
	uint32_t buckets[GROUP];
	uint32_t slots[GROUP]; /* where the search in the bucket begins */
};

/*
 * Takes words while they point into the group's span or into none, and prefetches their buckets.
 * Returns how many words were consumed.
 */
static size_t take_words(const struct blocks *blocks, struct span_words *group,
			 const uint64_t *words, const uint32_t *tags, size_t count)
{
	const struct span *span = group->span;
	uint64_t width = span->end - span->base;
	size_t i;

	for (i = 0; i < count && group->count < GROUP; i++) {
		uint64_t offset = words[i] - span->base;

		if (offset >= width) {
			const struct span *other =
				&blocks->spans.items[blocks_span_below(blocks, words[i])];

			if (words[i] - other->base >= other->end - other->base)
				continue;
			group->span = other;
			break;
		}
		group->offsets[group->count] = offset;
		group->tags[group->count] = tags[i];
		group->buckets[group->count] = bucket_of(span, offset);
		__builtin_prefetch(&blocks->buckets[group->buckets[group->count++]]);
	}
	return i;
}

/*
 * The slots are stored because they are needed, and because gcc removes a function that only
 * prefetches.
 */
static void fetch_starts(const struct blocks *blocks, struct span_words *group)
{
	for (size_t i = 0; i < group->count; i++) {
		group->slots[i] = blocks->buckets[group->buckets[i]];
		__builtin_prefetch(&blocks->starts[group->slots[i]]);
	}
}

static bool is_inside(const struct blocks *blocks, const struct span *span, uint32_t slot,
		      uint64_t offset)
{
	return offset < size_at(blocks, slot, span->base + blocks->starts[slot]);
}

/* Interior pointers also need the sizes, so prefetch these. */
static void resolve_starts(const struct blocks *blocks, const struct span *span,
			   const struct span_words *group, struct hit *hits)
{
	for (size_t i = 0; i < group->count; i++) {
		uint64_t place = group->offsets[i];
		uint32_t slot = slot_from(blocks, span, place, group->buckets[i], group->slots[i]);
		uint64_t offset = place - blocks->starts[slot];

		hits[i] = (struct hit){slot, group->tags[i], offset};
		if (offset)
			__builtin_prefetch(&blocks->sizes[slot]);
	}
}

static size_t keep_inside(const struct blocks *blocks, const struct span *span, size_t count,
			  struct hit *hits)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct hit hit = hits[i];

		hits[kept] = hit;
		kept += !hit.offset || is_inside(blocks, span, hit.slot, hit.offset);
	}
	return kept;
}

size_t blocks_find(const struct blocks *blocks, const uint64_t *words, const uint32_t *tags,
		   size_t count, struct hit *hits)
{
	struct span_words group; /* not zeroed, which would cost as much as a few words */
	size_t found = 0;

	group.span = blocks->spans.items;
	for (size_t i = 0; i < count;) {
		const struct span *span = group.span;

		group.count = 0;
		i += take_words(blocks, &group, words + i, tags + i, count - i);
		fetch_starts(blocks, &group);
		resolve_starts(blocks, span, &group, hits + found);
		found += keep_inside(blocks, span, group.count, hits + found);
	}
	return found;
}

static void cursor_set(struct block_cursor *cursor, uint32_t slot)
{
	const struct span *span = &cursor->blocks->spans.items[cursor->span];

	cursor->base = span->base;
	cursor->near = span->count < 3 ? 0 : span->first + span->count - 2;
	cursor->slot = slot;
	cursor->address = span->base + cursor->blocks->starts[slot];
	cursor->size = size_at(cursor->blocks, slot, cursor->address);
	if (slot + 1 < span->first + span->count)
		cursor->next = span->base + cursor->blocks->starts[slot + 1];
	else if (cursor->span + 1 < cursor->blocks->spans.count)
		cursor->next = span[1].base;
	else
		cursor->next = UINT64_MAX;
}

void block_cursor_seek(struct block_cursor *cursor, const struct blocks *blocks, uint64_t address)
{
	const struct span *span;
	uint64_t offset;

	*cursor = (struct block_cursor){.blocks = blocks,
					.slot = SLOT_NONE,
					.next = blocks->count ? blocks->low : UINT64_MAX};
	if (!blocks->count || address < blocks->low)
		return;
	cursor->span = blocks_span_below(blocks, address);
	span = &blocks->spans.items[cursor->span];
	offset = address - span->base;
	cursor_set(cursor, offset < span->end - span->base ? slot_below(blocks, span, offset)
							   : span->first + span->count - 1);
}

void block_cursor_leap(struct block_cursor *cursor)
{
	const struct span *span = &cursor->blocks->spans.items[cursor->span];

	if (cursor->slot == SLOT_NONE) {
		cursor_set(cursor, span->first);
	} else if (cursor->slot + 1 < span->first + span->count) {
		cursor_set(cursor, cursor->slot + 1);
	} else {
		cursor->span++;
		cursor_set(cursor, span[1].first);
	}
}
