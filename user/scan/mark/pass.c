/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pass over memory: looks up each word and handles those that are pointers. scan/scan.c
 * explains the idea.
 */
#include "scan/mark/pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scan/allocator/glibc_free_list.h"
#include "scan/mark/reach.h"
#include "scan/mark/references.h"
#include "scan/pattern/idiom.h"

#define IN_VAIN_SHARE 4 /* maintain `settled` after one useless lookup per this many blocks */

#define NO_SOURCE 0x80000000u /* instead of a slot: the other bits are the position in the unit */

/* Returns true if all blocks in the piece have been reached. */
static bool is_all_reached(const struct scan *scan)
{
	uint32_t slot = scan->first.slot == SLOT_NONE ? 0 : scan->first.slot;

	while (slot != scan->last + 1 && scan_level(scan, slot) == LEVEL_START)
		slot += scan->last - slot >= 8 && scan_eight_are(scan, slot, LEVEL_START) ? 8 : 1;
	return slot == scan->last + 1;
}

/* Notes what the blocks that begin in the piece look like, except for reachable ones. */
static void see_blocks(struct scan *scan)
{
	uint64_t end = scan->piece->address + scan->piece->size;
	struct block_cursor at = scan->first;

	if (is_all_reached(scan))
		return;
	if (at.slot != SLOT_NONE && scan_level(scan, at.slot) != LEVEL_START)
		scan_see_block(scan, &at);
	while (at.next < end) {
		block_cursor_step(&at);
		if (scan_level(scan, at.slot) != LEVEL_START)
			scan_see_block(scan, &at);
	}
}

/* The blocks in the order of the pass. */

const struct scan_range *scan_range_at(const struct scan *scan, uint64_t address)
{
	size_t low = scan->root_ranges, high = scan->input->range_count - scan->stack_ranges;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (scan->ranges[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	return &scan->ranges[low];
}

uint64_t scan_range_end(const struct scan *scan, uint64_t address)
{
	return scan_range_at(scan, address)->end;
}

/* The number of content bytes of the block that are in the piece. */
static inline uint64_t content_here(const struct scan *scan, const struct block_cursor *at)
{
	const struct feed_piece *piece = scan->piece;
	uint64_t from = at->address > piece->address ? at->address : piece->address;
	uint64_t to = scan_content_end(scan, at), end = piece->address + piece->size;

	to = to < end ? to : end;
	return from < to ? to - from : 0;
}

/* Must be called with ascending addresses, except for unreadable blocks. */
static bool is_wanted(struct scan *scan, uint32_t slot)
{
	if (scan->wanted_at && slot <= scan->wanted[scan->wanted_at - 1])
		scan->wanted_at = 0;
	while (scan->wanted_at < scan->wanted_count && scan->wanted[scan->wanted_at] < slot)
		scan->wanted_at++;
	return scan->wanted_at < scan->wanted_count && scan->wanted[scan->wanted_at] == slot;
}

/* Notes that the block's content in the piece could not be read. Returns its size. */
static uint64_t note_hole(struct scan *scan, const struct block_cursor *at)
{
	uint64_t bytes = content_here(scan, at);

	if (!bytes || (scan->only_wanted && !is_wanted(scan, at->slot)))
		return 0;
	/* if it cannot be noted, it counts as a hole in a root */
	if (vec_push(&scan->holes, (struct hole){.slot = at->slot, .bytes = bytes}))
		scan->result->bytes_unreadable += bytes;
	return bytes;
}

static void note_holes(struct scan *scan)
{
	uint64_t end = scan->piece->address + scan->piece->size, content = 0;
	struct block_cursor at = scan->at;

	if (at.slot != SLOT_NONE)
		content = note_hole(scan, &at);
	while (at.next < end) {
		block_cursor_step(&at);
		content += note_hole(scan, &at);
	}
	if (!scan->only_wanted)
		scan->result->bytes_unreadable += scan->piece->size - content;
}

/* Counts the readable bytes outside of blocks. */
static void count_between(struct scan *scan)
{
	uint64_t end = scan->piece->address + scan->piece->size, content = 0;
	struct block_cursor at = scan->at;

	if (at.slot != SLOT_NONE)
		content = content_here(scan, &at);
	while (at.next < end) {
		block_cursor_step(&at);
		content += scan_content_end(scan, &at) - at.address;
	}
	if (at.slot != scan->at.slot && scan_content_end(scan, &at) > end)
		content -= scan_content_end(scan, &at) - end;
	scan->last = at.slot;
	scan->result->bytes_between += scan->piece->size - content;
}

/* Counts the free bytes after the cursor's block, or before the first block of a range. */
static void walk_gap(struct scan *scan, const struct gap_view *view, const struct block_cursor *at)
{
	if (scan->gap_walk.chunk)
		gap_walk_end(&scan->gap_walk, view, at->address);
	if (at->next - scan_content_end(scan, at) >= 4 * scan->input->word)
		gap_walk_begin(&scan->gap_walk, view, at->address,
			       scan_range_end(scan, at->address));
}

/* A heap also has chunks before its first known block. */
static void enter_range(struct scan *scan, const struct gap_view *view)
{
	const struct scan_range *range = scan_range_at(scan, view->address);

	if (view->address >= scan->gap_walk.limit)
		gap_walk_top(&scan->gap_walk);
	if (view->address == range->start && view->data)
		gap_walk_begin(&scan->gap_walk, view, range->start + 2 * scan->input->word,
			       range->end);
}

static void walk_gaps(struct scan *scan)
{
	const struct feed_piece *piece = scan->piece;
	const struct gap_view view = {piece->address, piece->address + piece->size, piece->data};
	struct block_cursor at = scan->at;

	enter_range(scan, &view);
	if (!piece->data)
		return;
	if (at.slot != SLOT_NONE && at.address >= view.address)
		walk_gap(scan, &view, &at);
	while (at.next < view.end) {
		block_cursor_step(&at);
		walk_gap(scan, &view, &at);
	}
	gap_walk_leave(&scan->gap_walk, &view, at.next);
}

/* Moves the cursor to the piece. */
static void enter_piece(struct scan *scan, const struct feed_piece *piece)
{
	scan->piece = piece;
	block_cursor_seek(&scan->at, scan->blocks, piece->address);
	scan->content_end = scan->at.slot == SLOT_NONE ? 0 : scan_content_end(scan, &scan->at);
	scan->first = scan->at;
	if (!piece->data)
		note_holes(scan);
	else if (!scan->only_wanted)
		count_between(scan);
	if (scan->counts_free)
		walk_gaps(scan);
}

static inline void walk_to(struct scan *scan, uint64_t address)
{
	if (address < scan->at.next)
		return;
	do
		block_cursor_step(&scan->at);
	while (address >= scan->at.next);
	scan->content_end = scan_content_end(scan, &scan->at);
}

/* Words. */

/* Returns true if the memory before the next block of the range is known to be unused. */
static bool is_gap_free(struct scan *scan, const struct scan_range *range)
{
	const struct block_cursor *at = &scan->at;

	if (at->slot != SLOT_NONE && at->address >= range->start)
		return gap_is_free(&scan->chunk_words, at->address, at->size, at->next, range->end);
	return range->heap &&
	       gap_before_is_free(&scan->chunk_words, range->start, at->next, range->end);
}

/* The address is after the current block. */
static bool in_free_gap(struct scan *scan, uint64_t address)
{
	const struct scan_range *range;

	if (!scan->input->heap_is_known)
		return false;
	if (scan->gap.start <= address && address < scan->gap.end)
		return scan->is_gap_free;
	range = scan_range_at(scan, address);
	scan->gap.start = address;
	scan->gap.end = scan->at.next < range->end ? scan->at.next : range->end;
	scan->is_gap_free = is_gap_free(scan, range);
	return scan->is_gap_free;
}

/*
 * Finds the block that holds the address, or SLOT_NONE for a root. Returns false if words there do
 * not count. The answer holds for all addresses below *ret_until.
 */
static bool find_source(struct scan *scan, uint64_t address, uint32_t *ret_source,
			uint64_t *ret_until)
{
	*ret_source = SLOT_NONE;
	*ret_until = UINT64_MAX;
	if (!scan->in_blocks)
		return true;
	walk_to(scan, address);
	if (address < scan->content_end) {
		*ret_source = scan->at.slot;
		*ret_until = scan->content_end;
		return !scan->only_wanted || is_wanted(scan, scan->at.slot);
	}
	*ret_until = address + 1;
	return !scan->only_wanted && !in_free_gap(scan, address);
}

/* Returns true if the words of the block can be skipped because it will be read again anyway. */
static bool is_put_off(struct scan *scan, uint32_t source)
{
	if (!scan->remembering || source == SLOT_NONE || scan_level(scan, source) == LEVEL_START)
		return false;
	if (edges_full(&scan->edges))
		scan_put_off(scan, source);
	return scan->states[source] & INCOMPLETE;
}

static uint32_t position_of(const struct scan *scan, size_t i)
{
	return scan->positions[i] & ~WORD_TAGGED;
}

/*
 * Replaces the position of each word with its source, and drops words that do not count. A word
 * outside of all blocks keeps its position, marked by NO_SOURCE.
 */
static size_t find_sources(struct scan *scan, uint64_t address, size_t count)
{
	uint32_t source = SLOT_NONE;
	uint64_t until = 0;
	bool counts = false;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t place = address + position_of(scan, i);

		if (place >= until)
			counts = find_source(scan, place, &source, &until) &&
				 !is_put_off(scan, source);
		if (counts) {
			scan->words[kept] = scan->words[i];
			scan->positions[kept++] =
				source == SLOT_NONE ? NO_SOURCE | scan->positions[i]
						    : source | (scan->positions[i] & WORD_TAGGED);
			continue;
		}
		while (i + 1 < count && address + position_of(scan, i + 1) < until)
			i++;
	}
	return kept;
}

/*
 * Returns true if the word at `place`, outside of all blocks, is malloc's link to a free chunk. A
 * chunk begins one word before the end of the previous block's content, so a link to it looks like
 * an interior pointer.
 */
static bool is_free_list_link(struct scan *scan, uint64_t place, const struct edge *edge)
{
	uint64_t block = blocks_address(scan->blocks, edge->target);
	uint64_t chunk = block + edge->offset, word = scan->input->word;
	uint64_t end = gap_content_end(scan->input, block, blocks_size(scan->blocks, edge->target),
				       UINT64_MAX);

	return chunk + word == end && blocks_at(scan->blocks, end + word) == SLOT_NONE &&
	       glibc_free_list_links(&scan->chunk_words, place, chunk);
}

/* `address` is the start of the unit. */
static void scan_hits(struct scan *scan, uint64_t address, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__builtin_prefetch(&scan->states[scan->hits[i].slot]);
	for (size_t i = 0; i < count; i++) {
		const struct hit *hit = &scan->hits[i];
		uint32_t source = hit->tag & ~(NO_SOURCE | WORD_TAGGED);
		struct edge edge;

		if (scan_is_settled(scan, hit->slot))
			scan->in_vain++;
		else if (!scan_edge_of(hit, &edge))
			continue;
		else if (hit->tag < NO_SOURCE && source != hit->slot)
			scan->on_pointer(scan, source, &edge);
		else if (hit->tag >= NO_SOURCE &&
			 (!hit->offset || !is_free_list_link(scan, address + source, &edge)))
			scan->on_pointer(scan, SLOT_NONE, &edge);
	}
}

/* Clears the tags of words, and flags the positions of tagged words, which are rare. */
static void strip_tags(struct scan *scan, size_t from, size_t count)
{
	uint64_t address_bits = scan->filter.address_bits, bits = 0;
	uint64_t *words = scan->words + from;

	for (size_t i = 0; i < count; i++)
		bits |= words[i];
	if (!(bits & ~address_bits))
		return;
	for (size_t i = 0; i < count; i++) {
		if (!(words[i] & ~address_bits))
			continue;
		words[i] &= address_bits;
		scan->positions[from + i] |= WORD_TAGGED;
	}
}

/* Appends the words that begin in [from, to), at multiples of the word size plus `phase`. */
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
	if (scan->filter.address_bits != UINT64_MAX)
		strip_tags(scan, count, found);
	if (scan->settling)
		found = settled_filter(&scan->settled, scan->blocks, words, positions, found);
	for (size_t i = 0; i < found; i++)
		positions[i] += (uint32_t)(first - from);
	return found;
}

/* Sorts by position. Each phase is sorted already, so few words move far. */
static void sort_words(struct scan *scan, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint64_t word = scan->words[i];
		uint32_t position = scan->positions[i];
		size_t at = i;

		for (; at && position_of(scan, at - 1) > (position & ~WORD_TAGGED); at--) {
			scan->words[at] = scan->words[at - 1];
			scan->positions[at] = scan->positions[at - 1];
		}
		scan->words[at] = word;
		scan->positions[at] = position;
	}
}

/* Scans the words that begin in [from, to) of the data, which starts at `address`. */
static void scan_unit(struct scan *scan, uint64_t address, const unsigned char *data, size_t size,
		      size_t from, size_t to)
{
	unsigned int word = scan->input->word, step = scan->input->step;
	size_t count = 0;

	for (unsigned int phase = 0; phase < word; phase += step)
		count += find_phase(scan, address, data, size, from, to, phase, count);
	if (step < word)
		sort_words(scan, count);
	if (!scan->refers)
		count = find_sources(scan, address + from, count);
	count = blocks_find(scan->blocks, scan->words, scan->positions, count, scan->hits);
	if (scan->refers)
		references_note(scan, address + from, count);
	else
		scan_hits(scan, address + from, count);
}

/* Fills `settled`; from now on, scan_set_level() maintains it. */
static void keep_settled(struct scan *scan)
{
	scan->settling = true;
	for (uint32_t slot = 0; slot < scan->blocks->slots; slot++)
		if (scan_is_settled(scan, slot))
			settled_mark(&scan->settled, scan->blocks, slot);
}

/* Only words that point to blocks that are not settled matter. */
static void narrow_filter(struct scan *scan)
{
	uint64_t low, high;

	if (!scan->settling && scan->in_vain > scan->blocks->count / IN_VAIN_SHARE)
		keep_settled(scan);
	if (!scan->settling)
		return;
	settled_range(&scan->settled, scan->blocks, &low, &high);
	filter_limit(&scan->filter, low, high);
}

static void scan_data(struct scan *scan, uint64_t address, const unsigned char *data, size_t size)
{
	size_t unit = scan->input->step < scan->input->word ? UNIT_SORTED : UNIT;

	narrow_filter(scan);
	scan->result->bytes_scanned += size;
	if (size < scan->input->word || filter_is_closed(&scan->filter))
		return;
	for (size_t from = 0; from < size; from += unit)
		scan_unit(scan, address, data, size, from, size - from < unit ? size : from + unit);
}

/* Registers are not memory of the target. */
static void scan_registers(struct scan *scan)
{
	for (size_t i = 0; i < scan->input->register_count; i++) {
		scan->registers = (uint32_t)i;
		scan_data(scan, 0, scan->input->registers[i].bytes, scan->input->registers[i].size);
	}
	scan->registers = SCAN_IN_MEMORY;
}

static void scan_piece(struct scan *scan, const struct feed_piece *piece)
{
	if (scan->in_blocks)
		enter_piece(scan, piece);
	else if (!piece->data)
		scan->result->bytes_unreadable += piece->size;
	if (!piece->data)
		return;
	scan_data(scan, piece->address, piece->data, piece->size);
	if (scan->in_blocks && !scan->only_wanted)
		see_blocks(scan);
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
	feed_close(feed);
	return err;
}

/* Runs after the other roots, so that most blocks need no classification. */
static int scan_stacks(struct scan *scan)
{
	int err = 0;

	scan->refers = true;
	scan_registers(scan);
	if (scan->stack_ranges)
		err = scan_ranges(scan,
				  scan->ranges + scan->input->range_count - scan->stack_ranges,
				  scan->stack_ranges);
	scan->refers = false;
	return err ? err : references_classify(scan);
}

static int scan_roots(struct scan *scan)
{
	int err;

	scan->in_blocks = false;
	scan_data(scan, 0, (const unsigned char *)scan->input->kernel_words,
		  scan->input->kernel_word_count * sizeof(*scan->input->kernel_words));
	err = scan_ranges(scan, scan->ranges, scan->root_ranges);
	return err ? err : scan_stacks(scan);
}

int scan_pass(struct scan *scan)
{
	int err;

	scan->on_pointer = scan_pass_pointer;
	scan->settled_level = LEVEL_START;
	err = scan_roots(scan);
	if (err)
		return err;
	scan->in_blocks = scan->remembering = true;
	scan->counts_free = !scan->input->heap_is_known;
	scan->gap_walk.word = scan->input->word;
	err = scan_ranges(scan, scan->ranges + scan->root_ranges,
			  scan->input->range_count - scan->root_ranges - scan->stack_ranges);
	edges_finish(&scan->edges);
	gap_walk_top(&scan->gap_walk);
	scan->result->bytes_free = scan->gap_walk.free;
	scan->remembering = scan->counts_free = false;
	scan->settling = scan->settling && scan->incomplete; /* otherwise nothing more is read */
	scan->only_wanted = true;
	return err;
}
