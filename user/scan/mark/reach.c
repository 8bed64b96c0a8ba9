// SPDX-License-Identifier: GPL-2.0-or-later
#include "scan/mark/reach.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "scan/mark/stack_only.h"
#include "scan/pattern/idiom.h"

/* Notes what the block looks like, from its first words. */
static void note_idiom(struct scan *scan, uint32_t slot, uint64_t size, const void *bytes)
{
	uint8_t looks = idiom_looks(scan->input, bytes, size);
	uint8_t rest = scan->states[slot] & ((1u << IDIOM_SHIFT) - 1);

	scan->states[slot] = (uint8_t)(looks << IDIOM_SHIFT | rest);
}

static void read_idiom(struct scan *scan, uint32_t slot)
{
	unsigned char bytes[IDIOM_BYTES] = {0};
	struct memory_piece piece = {.address = blocks_address(scan->blocks, slot),
				     .size = idiom_bytes(scan->input)};
	uint64_t size = blocks_size(scan->blocks, slot);

	if (size < piece.size)
		piece.size = size;
	if (piece.size)
		scan->input->memory->read(scan->input->memory->ctx, &piece, 1, bytes);
	note_idiom(scan, slot, size, bytes);
}

/* Returns true if the pointer is as good as one to the start. The block must have been seen. */
bool scan_counts_as_start(const struct scan *scan, const struct edge *edge)
{
	uint8_t looks = scan_looks(scan, edge->target);
	uint64_t start;

	if (!edge->offset)
		return true;
	if (edge->offset == EDGE_TAGGED)
		return false;
	if (looks <= IDIOM_NONE)
		return false;
	start = blocks_address(scan->blocks, edge->target);
	return idiom_accepts(scan->input, looks, start, start + edge->offset);
}

void scan_see_block(struct scan *scan, const struct block_cursor *at)
{
	const struct feed_piece *piece = scan->piece;
	const unsigned char *content = piece->data + (at->address - piece->address);
	uint64_t end = piece->address + piece->size;
	unsigned char bytes[IDIOM_BYTES] = {0};

	if (at->address < piece->address || at->address >= end)
		return;
	if (scan_content_end(scan, at) < end)
		end = scan_content_end(scan, at);
	if (end - at->address >= idiom_bytes(scan->input)) {
		note_idiom(scan, at->slot, at->size, content);
	} else if (at->size <= end - at->address) {
		memcpy(bytes, content, at->size);
		note_idiom(scan, at->slot, at->size, bytes);
	}
}

/* Looks at a block before the pass gets to it, if it is in the current piece. */
static bool see_here(struct scan *scan, uint32_t slot)
{
	struct block_cursor at;

	if (!scan->piece)
		return false;
	block_cursor_seek(&at, scan->blocks, blocks_address(scan->blocks, slot));
	scan_see_block(scan, &at);
	return scan_looks(scan, slot) != IDIOM_UNSEEN;
}

static bool defer(struct scan *scan, const struct edge *edge)
{
	return scan->deferred.count < scan->deferred_max &&
	       !vec_push(&scan->deferred,
			 (struct deferred){.slot = edge->target,
					   .offset = edge->offset < UINT32_MAX
							     ? (uint32_t)edge->offset
							     : UINT32_MAX});
}

/* If it cannot be noted, the tag is not reported. */
static void note_tagged(struct scan *scan, uint32_t slot)
{
	if (!scan->tagged)
		scan->tagged = calloc(scan->blocks->slots / CHAR_BIT + 1, 1);
	if (scan->tagged)
		scan->tagged[slot / CHAR_BIT] |= (uint8_t)(1u << slot % CHAR_BIT);
}

void scan_set_interior(struct scan *scan, const struct edge *edge)
{
	scan_set_level(scan, edge->target, LEVEL_INTERIOR);
	if (edge->offset == EDGE_TAGGED)
		note_tagged(scan, edge->target);
}

static void reach_interior(struct scan *scan, const struct edge *edge)
{
	if (!scan_level(scan, edge->target))
		scan_set_interior(scan, edge);
	if (edge->offset == EDGE_TAGGED)
		return;
	if (scan_looks(scan, edge->target) == IDIOM_UNSEEN && !see_here(scan, edge->target)) {
		if (defer(scan, edge))
			return;
		read_idiom(scan, edge->target);
	}
	if (scan_counts_as_start(scan, edge))
		scan_set_level(scan, edge->target, LEVEL_START);
}

void scan_put_off(struct scan *scan, uint32_t source)
{
	scan->states[source] |= INCOMPLETE;
	scan->incomplete = true;
}

void scan_reach(struct scan *scan, const struct edge *edge)
{
	if (scan_level(scan, edge->target) == LEVEL_START)
		return;
	if (edge->offset)
		reach_interior(scan, edge);
	else
		scan_set_level(scan, edge->target, LEVEL_START);
}

void scan_pass_pointer(struct scan *scan, uint32_t source, const struct edge *edge)
{
	if (source == SLOT_NONE || scan_level(scan, source) == LEVEL_START) {
		if (scan->origins)
			stack_only_inherit(scan, source, edge->target);
		scan_reach(scan, edge);
		return;
	}
	if (!edges_add(&scan->edges, source, edge))
		scan_put_off(scan, source);
}
