/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pass: all words of all memory, each looked up and handed on. The idea is in scan.c. */
#include <stdlib.h>
#include <string.h>

#include "scan/idiom.h"
#include "scan/mark.h"

/* What the block looks like, from its first words. */
static void see(struct scan *scan, uint32_t slot, uint64_t size, const void *bytes)
{
	uint8_t looks = idiom_looks(scan->input, bytes, size);
	uint8_t rest = scan->states[slot] & ((1u << IDIOM_SHIFT) - 1);

	scan->states[slot] = (uint8_t)(looks << IDIOM_SHIFT | rest);
}

static void look_at(struct scan *scan, uint32_t slot)
{
	unsigned char bytes[IDIOM_BYTES] = {0};
	struct memory_piece piece = {.address = blocks_address(scan->blocks, slot),
				     .size = idiom_bytes(scan->input)};
	uint64_t size = blocks_size(scan->blocks, slot);

	if (size < piece.size)
		piece.size = size;
	if (piece.size)
		scan->input->memory->read(scan->input->memory->ctx, &piece, 1, bytes);
	see(scan, slot, size, bytes);
}

/* As good as a pointer to the start? The block was seen. */
bool scan_counts_as_start(const struct scan *scan, const struct edge *edge)
{
	uint8_t looks = scan_looks(scan, edge->target);
	uint64_t start;

	if (!edge->offset)
		return true;
	if (looks <= IDIOM_NONE)
		return false;
	start = blocks_address(scan->blocks, edge->target);
	return idiom_accepts(scan->input, looks, start, start + edge->offset);
}

/* While memory is read for the first time. */

static bool defer(struct scan *scan, const struct edge *edge)
{
	return scan->deferred.count < scan->deferred_max &&
	       !vec_push(&scan->deferred,
			 (struct deferred){.slot = edge->target,
					   .offset = edge->offset < UINT32_MAX
							     ? (uint32_t)edge->offset
							     : UINT32_MAX});
}

static void reach_interior(struct scan *scan, const struct edge *edge)
{
	if (!scan_level(scan, edge->target))
		scan_set_level(scan, edge->target, LEVEL_INTERIOR);
	if (scan_looks(scan, edge->target) == IDIOM_UNSEEN) {
		if (defer(scan, edge))
			return;
		look_at(scan, edge->target);
	}
	if (scan_counts_as_start(scan, edge))
		scan_set_level(scan, edge->target, LEVEL_START);
}

/* There is no room for its pointers: it will be read again if it is reached. */
static void put_off(struct scan *scan, uint32_t source)
{
	scan->states[source] |= INCOMPLETE;
	scan->incomplete = true;
}

static void pass_pointer(struct scan *scan, uint32_t source, const struct edge *edge)
{
	if (source == SLOT_NONE || scan_level(scan, source) == LEVEL_START) {
		if (edge->offset)
			reach_interior(scan, edge);
		else
			scan_set_level(scan, edge->target, LEVEL_START);
		return;
	}
	if (!edges_add(&scan->edges, source, edge))
		put_off(scan, source);
}
/* Words. */

uint64_t scan_range_end(const struct scan *scan, uint64_t address)
{
	size_t low = scan->root_ranges, high = scan->input->range_count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (scan->ranges[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	return scan->ranges[low].end;
}

/* Is the memory behind the present block, where the address lies, known to be unused? */
static bool in_free_gap(struct scan *scan, uint64_t address)
{
	const struct block_cursor *at = &scan->at;
	uint64_t limit;

	if (!scan->input->heap_is_known || at->slot == SLOT_NONE)
		return false;
	if (scan->judged.start <= address && address < scan->judged.end)
		return scan->gap_free;
	limit = scan_range_end(scan, address);
	scan->judged.start = address;
	scan->judged.end = at->next < limit ? at->next : limit;
	scan->gap_free = scan_range_end(scan, at->address) == limit &&
			 gap_is_free(&scan->gap, at->address, at->size, at->next, limit);
	return scan->gap_free;
}

/*
 * Whose word lies at the address? False: nobody's. The answer holds for all that lies in front of
 * *ret_until.
 */
static bool find_source(struct scan *scan, uint64_t address, uint32_t *ret_source,
			uint64_t *ret_until)
{
	*ret_source = SLOT_NONE;
	*ret_until = UINT64_MAX;
	if (!scan->in_blocks)
		return true;
	while (address >= scan->at.next)
		block_cursor_step(&scan->at);
	if (scan->at.slot != SLOT_NONE) {
		uint64_t end = scan_content_end(scan, &scan->at);

		if (address < end) {
			*ret_source = scan->at.slot;
			*ret_until = end;
			return true;
		}
	}
	*ret_until = address + 1;
	return !scan->only_blocks && !in_free_gap(scan, address);
}

/* Need nobody ask where the words of this block point, because it will be read again anyway? */
static bool is_put_off(struct scan *scan, uint32_t source)
{
	if (!scan->remembering || source == SLOT_NONE || scan_level(scan, source) == LEVEL_START)
		return false;
	if (edges_full(&scan->edges))
		put_off(scan, source);
	return scan->states[source] & INCOMPLETE;
}

/* Put the source of each word in place of its position, and leave out those that do not count. */
static size_t find_sources(struct scan *scan, uint64_t address, size_t count)
{
	uint32_t source = SLOT_NONE;
	uint64_t until = 0;
	bool counts = false;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t place = address + scan->positions[i];

		if (place >= until)
			counts = find_source(scan, place, &source, &until) &&
				 !is_put_off(scan, source);
		if (counts) {
			scan->words[kept] = scan->words[i];
			scan->positions[kept++] = source;
			continue;
		}
		while (i + 1 < count && address + scan->positions[i + 1] < until)
			i++;
	}
	return kept;
}

static void scan_hits(struct scan *scan, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__builtin_prefetch(&scan->states[scan->hits[i].slot]);
	for (size_t i = 0; i < count; i++) {
		const struct hit *hit = &scan->hits[i];
		struct edge edge = {.target = hit->slot, .offset = hit->offset};

		if (scan_level(scan, hit->slot) < scan->settled_level && hit->tag != hit->slot)
			scan->on_pointer(scan, hit->tag, &edge);
	}
}

/* The words at multiples of the word, plus phase, that begin in [from, to): behind the others. */
static size_t find_phase(struct scan *scan, uint64_t address, const unsigned char *data,
			 size_t size, size_t from, size_t to, unsigned int phase, size_t count)
{
	unsigned int word = scan->input->word;
	size_t first = from + (word + phase - (address + from) % word) % word;
	size_t last = size - word < to - 1 ? size - word : to - 1;
	uint64_t *words = scan->words + count;
	uint32_t *positions = scan->positions + count;
	size_t found;

	if (first >= to || first > last)
		return 0;
	found = filter_run(&scan->filter, data + first, (last - first) / word + 1, words,
			   positions);
	if (settled_is_worth_it(&scan->settled))
		found = settled_filter(&scan->settled, scan->blocks, words, positions, found);
	for (size_t i = 0; i < found; i++)
		positions[i] += (uint32_t)(first - from);
	return found;
}

/* By position: each phase is, so few are out of place by much. */
static void sort_words(struct scan *scan, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint64_t word = scan->words[i];
		uint32_t position = scan->positions[i];
		size_t at = i;

		for (; at && scan->positions[at - 1] > position; at--) {
			scan->words[at] = scan->words[at - 1];
			scan->positions[at] = scan->positions[at - 1];
		}
		scan->words[at] = word;
		scan->positions[at] = position;
	}
}

/* The words that begin in [from, to) of the data, whose first byte has the address. */
static void scan_unit(struct scan *scan, uint64_t address, const unsigned char *data, size_t size,
		      size_t from, size_t to)
{
	unsigned int word = scan->input->word, step = scan->input->step;
	size_t count = 0;

	for (unsigned int phase = 0; phase < word; phase += step)
		count += find_phase(scan, address, data, size, from, to, phase, count);
	if (step < word)
		sort_words(scan, count);
	count = find_sources(scan, address + from, count);
	scan_hits(scan, blocks_find(scan->blocks, scan->words, scan->positions, count, scan->hits));
}

/* Words only matter that point where something is not settled. */
static void narrow_filter(struct scan *scan)
{
	uint64_t low, high;

	settled_range(&scan->settled, scan->blocks, &low, &high);
	filter_limit(&scan->filter, low, high);
}

static void scan_data(struct scan *scan, uint64_t address, const unsigned char *data, size_t size)
{
	size_t unit = scan->input->step < scan->input->word ? UNIT_SORTED : UNIT;

	if (scan->in_blocks)
		block_cursor_seek(&scan->at, scan->blocks, address);
	narrow_filter(scan);
	scan->result->bytes_scanned += size;
	for (size_t from = 0; size >= scan->input->word && from < size; from += unit)
		scan_unit(scan, address, data, size, from, size - from < unit ? size : from + unit);
}

/* Registers, and whatever else is no memory of the target. */
static void scan_registers(struct scan *scan)
{
	scan->in_blocks = false;
	for (size_t i = 0; i < scan->input->register_count; i++)
		scan_data(scan, 0, scan->input->registers[i].bytes, scan->input->registers[i].size);
}

static uint64_t overlap_of(uint64_t start, uint64_t end, uint64_t other, uint64_t other_end)
{
	uint64_t from = start > other ? start : other;
	uint64_t to = end < other_end ? end : other_end;

	return from < to ? to - from : 0;
}

/* Call visit for all blocks with content in the piece; returns the bytes that are in none. */
static inline uint64_t visit_blocks(struct scan *scan, const struct feed_piece *piece,
				    void (*visit)(struct scan *scan, const struct block_cursor *at,
						  const struct feed_piece *piece, uint64_t bytes))
{
	uint64_t end = piece->address + piece->size, outside = piece->size;
	struct block_cursor at;

	block_cursor_seek(&at, scan->blocks, piece->address);
	for (;;) {
		uint64_t bytes = at.slot == SLOT_NONE
					 ? 0
					 : overlap_of(at.address, scan_content_end(scan, &at),
						      piece->address, end);

		if (bytes)
			visit(scan, &at, piece, bytes);
		outside -= bytes;
		if (at.next >= end)
			return outside;
		block_cursor_step(&at);
	}
}

/* Less than others have, all of it here. */
static void see_small(struct scan *scan, const struct block_cursor *at,
		      const unsigned char *content)
{
	unsigned char bytes[IDIOM_BYTES] = {0};

	memcpy(bytes, content, at->size);
	see(scan, at->slot, at->size, bytes);
}

static void see_block(struct scan *scan, const struct block_cursor *at,
		      const struct feed_piece *piece, uint64_t bytes)
{
	const unsigned char *content = piece->data + (at->address - piece->address);

	/* Whoever is settled needs no idiom. */
	if (at->address < piece->address || scan_level(scan, at->slot) == LEVEL_START)
		return;
	if (bytes >= idiom_bytes(scan->input))
		see(scan, at->slot, at->size, content);
	else if (at->size <= bytes)
		see_small(scan, at, content);
}

static void note_hole(struct scan *scan, const struct block_cursor *at,
		      const struct feed_piece *piece, uint64_t bytes)
{
	(void)piece;
	/* Without memory to note it, it counts for a hole in a root. */
	if (vec_push(&scan->holes, (struct hole){.slot = at->slot, .bytes = bytes}))
		scan->result->bytes_unreadable += bytes;
}

static void scan_piece(struct scan *scan, const struct feed_piece *piece)
{
	if (!scan->in_blocks) {
		if (piece->data)
			scan_data(scan, piece->address, piece->data, piece->size);
		else
			scan->result->bytes_unreadable += piece->size;
		return;
	}
	if (!piece->data) {
		scan->result->bytes_unreadable += visit_blocks(scan, piece, note_hole);
		return;
	}
	if (!scan->only_blocks)
		scan->result->bytes_between += visit_blocks(scan, piece, see_block);
	scan_data(scan, piece->address, piece->data, piece->size);
}

int scan_feed(struct scan *scan, struct feed *feed)
{
	const struct feed_batch *batch;
	int status;

	while ((status = feed_next(feed, &batch)) > 0)
		for (size_t i = 0; i < batch->count; i++)
			scan_piece(scan, &batch->pieces[i]);
	return status;
}

static int scan_ranges(struct scan *scan, const struct scan_range *ranges, size_t count)
{
	const struct scan_input *input = scan->input;
	struct feed *feed;
	int err = feed_open(&feed, input->memory, ranges, count, input->word - input->step,
			    input->read_ahead);

	if (err)
		return err;
	err = scan_feed(scan, feed);
	if (feed_memory(feed) > scan->result->memory)
		scan->result->memory = feed_memory(feed);
	feed_close(feed);
	return err;
}

int scan_pass(struct scan *scan)
{
	int err;

	scan->on_pointer = pass_pointer;
	scan->settled_level = LEVEL_START;
	scan->reading = true;
	scan_registers(scan);
	err = scan_ranges(scan, scan->ranges, scan->root_ranges);
	if (err)
		return err;
	scan->in_blocks = scan->remembering = true;
	err = scan_ranges(scan, scan->ranges + scan->root_ranges,
			  scan->input->range_count - scan->root_ranges);
	edges_finish(&scan->edges);
	scan->remembering = false;
	scan->reading = scan->incomplete;
	scan->only_blocks = true;
	return err;
}
