/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks whose pointers did not fit into memory are read again when they turn out to be reachable.
 * A request for one block costs as much as reading a few kilobytes, so
 *  - all blocks known to be wanted are requested together, by ascending address; a block that
 * becomes wanted meanwhile joins the same sweep if it is ahead, as in an elevator that only goes
 * up;
 *  - a short gap between two wanted blocks is read as well, and ignored.
 *
 * Sorting the leaked blocks (scan/scan.c) follows them one by one. By then most edges are useless:
 * those of reachable blocks. So all leaked blocks are read once more, and only pointers from one
 * leaked block to another are remembered.
 */
#include "scan/mark/reread.h"
#include "scan/mark/pass.h"

#define BLOCKS 1024 /* at a time */
#define GAP    1024 /* bytes: a separate range costs more than reading these */

/* Blocks to read, and the ranges that hold them. */
struct reread_batch {
	uint32_t slots[BLOCKS];
	struct scan_range ranges[BLOCKS];
	size_t count;
	size_t range_count;
};

static void add_block(struct scan *scan, struct reread_batch *batch, uint32_t slot)
{
	struct scan_range *last = &batch->ranges[batch->range_count];
	struct block_cursor at;
	uint64_t from, end;

	block_cursor_seek(&at, scan->blocks, blocks_address(scan->blocks, slot));
	from = at.address;
	end = scan_content_end(scan, &at);
	if (batch->range_count && from - last[-1].end < GAP &&
	    scan_range_end(scan, last[-1].start) == scan_range_end(scan, from)) {
		from = last[-1].end;
		last[-1].end = end;
	} else {
		*last = (struct scan_range){.start = from, .end = end};
		batch->range_count++;
	}
	scan->result->bytes_read_again += end - from;
	batch->slots[batch->count++] = slot;
}

static int read_batch(struct scan *scan, const struct reread_batch *batch)
{
	const struct scan_input *input = scan->input;

	if (!scan->reread_feed) {
		int err = feed_open(&scan->reread_feed, input->memory, NULL, 0,
				    input->word - input->step, false);

		if (err)
			return err;
	}
	scan->wanted = batch->slots;
	scan->wanted_count = batch->count;
	scan->wanted_at = 0;
	feed_restart(scan->reread_feed, batch->ranges, batch->range_count);
	return scan_feed(scan, scan->reread_feed);
}

int scan_reread(struct scan *scan)
{
	struct reread_batch batch;
	uint32_t slot = bitset_next(&scan->reread, scan->reread_from);
	int err;

	if (slot == BITSET_NONE)
		slot = bitset_next(&scan->reread, 0);
	if (slot == BITSET_NONE)
		return 0;
	batch.count = batch.range_count = 0;
	do {
		bitset_remove(&scan->reread, slot);
		add_block(scan, &batch, slot);
		scan->reread_from = slot;
		slot = bitset_next(&scan->reread, slot);
	} while (slot != BITSET_NONE && batch.count < BLOCKS);
	err = read_batch(scan, &batch);
	return err ? err : 1;
}

/* Leaked blocks. */

uint32_t scan_next_unreachable(const struct scan *scan, uint32_t slot)
{
	while (slot < scan->blocks->slots) {
		if (scan_eight_are(scan, slot, LEVEL_START))
			slot += 8;
		else if (scan_level(scan, slot) || !blocks_is_block(scan->blocks, slot))
			slot++;
		else
			break;
	}
	return slot;
}

static void learn_pointer(struct scan *scan, uint32_t source, const struct edge *edge)
{
	if (!edges_add(&scan->edges, source, edge))
		scan->states[source] |= INCOMPLETE;
}

int scan_read_unreachable(struct scan *scan)
{
	struct reread_batch batch;
	uint32_t slot = 0;
	int err = 0;

	edges_clear(&scan->edges);
	scan->on_pointer = learn_pointer;
	do {
		batch.count = batch.range_count = 0;
		for (; batch.count < BLOCKS; slot++) {
			slot = scan_next_unreachable(scan, slot);
			if (slot == scan->blocks->slots)
				break;
			scan->states[slot] &= (uint8_t)~INCOMPLETE;
			add_block(scan, &batch, slot);
		}
		if (batch.count)
			err = read_batch(scan, &batch);
	} while (!err && batch.count == BLOCKS);
	edges_finish(&scan->edges);
	return err;
}
