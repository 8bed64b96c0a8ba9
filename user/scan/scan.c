/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mark phase of a garbage collector, from outside the process. Three things differ from one:
 * memory is fetched by system calls, so it is read in large pieces and in order, not pointer by
 * pointer; the process may be paused meanwhile, so memory is read only once; and our own memory is
 * limited to 16 bytes per block.
 *
 * One pass. Roots are read first, then all memory that holds blocks, by ascending address. Each
 * word that passes the filter is looked up (scan/block/blocks.c).
 * - If it is in a root, or in a block that is known to be reachable, the block that it points to is
 *   reachable at once.
 * - If it is in any other block, the pointer is remembered as an edge (scan/mark/edges.c). Most
 *   pointers are never stored: their target is already reachable, or is stored in a run.
 * After the pass, reachability spreads along the edges in our own memory, without the target. So a
 * linked list of a million nodes in random order does not cost a million reads.
 *
 * In a heap full of pointers, most targets are already reachable. Their words are dropped by region
 * (scan/mark/settled.h) before they are looked up. Words that point before the first or after
 * the last block that is not reachable yet do not even pass the filter.
 *
 * No room. Edges take what is left of the 16 bytes per block: on average, one edge per block. A
 * block whose edges did not fit is flagged, and is read again if it turns out to be reachable,
 * together with all others that are known at that time (scan/mark/reread.c). Once there is no room,
 * words of blocks that are not reachable are not looked up at all. In the worst case, a random
 * graph in which no block is reachable until the last one was read, most memory is read twice.
 *
 * Levels. A block is reached by start pointers only (START), or one of the pointers on the way was
 * an interior pointer (INTERIOR). START spreads first, to the end. Then INTERIOR spreads over the
 * rest; by then, every block that has a level keeps it. So each block's edges are followed at most
 * once. Whether an interior pointer is an idiom depends on its target. While the pass reads a
 * block, it stores in five bits what the block looks like; pointers to blocks that it has not read
 * yet are deferred. If there is no room for that, the target is read out of turn.
 *
 * Tags. Lock-free structures keep a counter in the upper 16 bits of a pointer, and interpreters a
 * type. A word that equals the start of a block once these bits are cleared counts like an interior
 * pointer: it may be a tagged pointer or a number.
 *
 * Stacks hold leftovers: words of calls that have returned, of arrays that were never written. So
 * stacks and registers are read after the other roots. The caller may say which of their words the
 * program can still read (scan_input.classify); only these are roots. For blocks referenced by a
 * word that the caller knows nothing about, see scan/mark/stack_only.h. References are classified
 * before the heap is read, rather than about single blocks later: in a program that keeps
 * everything below a local variable of main, nothing would be known to be reachable while the heap
 * is read.
 *
 * The process need not be paused for any of this if there is memory for a copy of its memory
 * (scan/read/copy.c).
 *
 * Leaked blocks. As few of them as possible are definite, and all others are indirect, below them:
 * one block of each cycle that no other block points to, and each block outside of cycles that no
 * block points to. This takes two rounds. First, by ascending address, each block that has not been
 * visited becomes a head, and everything reachable from it is visited. A later head may point to an
 * earlier one, but never the other way round. So only the last head's own cycle points to it, and
 * the head has the lowest address in it. Then, by descending address, everything reachable from a
 * head is indirect, other heads included. memcheck (mc_leakcheck.c, "cliques") has only the first
 * round: there, a block that points into a leaked cycle is definite, but so is a block of the
 * cycle. As in memcheck, interior pointers count as much as others here.
 *
 * Nothing is called leaked if a page of a root, or of a reachable block, could not be read, because
 * that page might hold the missing pointer. A page of a leaked block does no harm.
 *
 * Speed is limited by the memory behind the tables: a look-up misses the cache twice, and the
 * processor can only have a limited number of misses in flight. Measured by tests/bench/scan_bench
 * N 1: a million blocks, one core with AVX-512, a dozen other processes at work on two cores,
 * medians of seven rounds; 100% is the speed of reading alone in the same round, and the figure in
 * brackets is that of reading and filtering:
 *
 *   text and numbers                       78 to 82% (93%)  the filter takes a third of the rest
 *   one word in sixteen a pointer          42 to 48% (82%)  the rest looks up blocks
 *   every word a pointer                   43 to 46% (84%)
 *   each hundredth block leaked, the same  24 to 27% (90%)  its neighbours are looked up to the end
 *   each tenth word, a random graph        22%              two thirds are read twice
 *   every word an interior pointer         23%              everything is read twice
 *   64-byte blocks, a list at random       6 to 10% (88%)   misses that depend on each other
 *   64-byte blocks, a random graph         4 to 5% (90%)    half are read again
 *
 * A list offers one pointer to follow at a time, and prefetching (scan/mark/propagate.c) only helps
 * blocks that wait beside it: each block of a list costs the misses for its edges, one after the
 * other.
 *
 * Cost: linear in memory and in edges. Per block, 6 bytes for address and size, 1.5 to 3 for the
 * buckets, 1 for the state, 1 for bit sets, and the rest for edges. Buffers also come out of that
 * rest, as long as there is any: half a megabyte, or three times that with a second core. A copy
 * takes as much as the process has, in addition.
 */
#include "scan/scan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "scan/allocator/own_memory.h"
#include "scan/mark/mark.h"
#include "scan/mark/pass.h"
#include "scan/mark/propagate.h"
#include "scan/read/copy.h"

#define BYTES_PER_BLOCK 16
#define DEFERRED_SHARE  32           /* deferred pointers get this fraction of the room for edges */
#define EDGES_LEAST     (128 * 1024) /* or one per block: for heaps too small for our buffers */

/* The unreadable content of a block only matters if the block is reached. */
static void count_holes(struct scan *scan)
{
	const struct hole *hole;

	vec_each (hole, &scan->holes)
		if (scan_level(scan, hole->slot))
			scan->result->bytes_unreadable += hole->bytes;
}

static enum leak_class class_of_state(uint8_t state, bool all_read)
{
	if ((state & LEVEL_MASK) == LEVEL_START)
		return LEAK_REACHABLE;
	if ((state & LEVEL_MASK) == LEVEL_INTERIOR)
		return LEAK_POSSIBLE;
	if (!all_read)
		return LEAK_UNKNOWN;
	return state & UNREACHABLE_INDIRECT ? LEAK_INDIRECT : LEAK_DEFINITE;
}

/* Moves candidates from their class to LEAK_STACK. */
static void conclude_stack_only(struct scan *scan)
{
	struct scan_sum *classes = scan->result->classes;
	const uint32_t *slot;

	vec_each (slot, &scan->candidates) {
		uint64_t size = blocks_size(scan->blocks, *slot);
		uint8_t *class = &scan->states[*slot];

		classes[*class].blocks--;
		classes[*class].bytes -= size;
		*class = LEAK_STACK;
		classes[LEAK_STACK].blocks++;
		classes[LEAK_STACK].bytes += size;
	}
}

static void count_tagged(struct scan *scan)
{
	for (uint32_t slot = 0; scan->tagged && slot < scan->blocks->slots; slot++)
		scan->result->blocks_tagged += scan->states[slot] == LEAK_POSSIBLE &&
					       scan->tagged[slot / CHAR_BIT] >> slot % CHAR_BIT & 1;
}

/*
 * Turns states into classes, in place. Most blocks are reachable; eight of them are skipped at
 * once.
 */
static void conclude(struct scan *scan)
{
	struct scan_result *result = scan->result;
	struct scan_sum *reachable = &result->classes[LEAK_REACHABLE];

	*reachable = (struct scan_sum){scan->blocks->count, scan->blocks->total};
	for (uint32_t slot = 0; slot < scan->blocks->slots; slot++) {
		enum leak_class class;
		uint64_t size;

		if (scan_eight_are(scan, slot, LEVEL_START)) {
			memset(&scan->states[slot], LEAK_REACHABLE, 8);
			slot += 7;
			continue;
		}
		class = class_of_state(scan->states[slot], !result->bytes_unreadable);
		scan->states[slot] = (uint8_t) class;
		if (!blocks_is_block(scan->blocks, slot))
			continue;
		size = blocks_size(scan->blocks, slot);
		reachable->blocks--;
		reachable->bytes -= size;
		result->classes[class].blocks++;
		result->classes[class].bytes += size;
	}
	conclude_stack_only(scan);
	count_tagged(scan);
	result->class_of = scan->states;
	scan->states = NULL;
}

/* Setting up. */

static bool holds_block(const struct blocks *blocks, const struct scan_range *range)
{
	struct block_cursor at;

	block_cursor_seek(&at, blocks, range->start);
	return at.next < range->end ||
	       (at.slot != SLOT_NONE && range->start - at.address < at.size);
}

enum part { PART_ROOTS, PART_BLOCKS, PART_STACKS, PART_COUNT };

static enum part part_of(const struct scan *scan, const struct scan_range *range)
{
	if (holds_block(scan->blocks, range))
		return PART_BLOCKS;
	return range->stack ? PART_STACKS : PART_ROOTS;
}

static int part_ranges(struct scan *scan)
{
	const struct scan_input *input = scan->input;
	size_t counts[PART_COUNT] = {0}, at = 0;

	scan->ranges = malloc((input->range_count + 1) * sizeof(*scan->ranges));
	if (!scan->ranges)
		return -ENOMEM;
	for (enum part part = 0; part < PART_COUNT; part++)
		for (size_t i = 0; i < input->range_count; i++)
			if (part_of(scan, &input->ranges[i]) == part) {
				scan->ranges[at++] = input->ranges[i];
				counts[part]++;
			}
	scan->root_ranges = counts[PART_ROOTS];
	scan->stack_ranges = counts[PART_STACKS];
	return 0;
}

/*
 * Memory use that is independent of the number of pointers. One feed is closed before the next
 * opens.
 */
static size_t bytes_taken(const struct scan *scan)
{
	return sizeof(*scan) + feed_memory(scan->input->read_ahead) + scan->blocks->bytes +
	       scan->blocks->slots + scan->pending.bytes + scan->reread.bytes +
	       scan->settled.bytes + (scan->input->range_count + 1) * sizeof(*scan->ranges);
}

/* Room for edges and deferred pointers. */
static size_t bytes_left(const struct scan *scan)
{
	size_t taken = bytes_taken(scan) + edges_memory(scan->blocks->slots);
	size_t budget = (size_t)scan->blocks->count * BYTES_PER_BLOCK;

	return budget > taken ? budget - taken : 0;
}

static int set_up(struct scan *scan)
{
	uint32_t slots = scan->blocks->slots, least;
	size_t left;

	scan->states = calloc(slots + 1, 1);
	if (!scan->states || bitset_init(&scan->pending, slots) ||
	    bitset_init(&scan->reread, slots) || settled_init(&scan->settled, scan->blocks) ||
	    part_ranges(scan))
		return -ENOMEM;
	left = bytes_left(scan);
	scan->deferred_max = left / DEFERRED_SHARE / sizeof(struct deferred);
	filter_init(&scan->filter, scan->input->word, scan->blocks->low, scan->blocks->high,
		    FILTER_FASTEST);
	scan->chunk_words.input = scan->input;
	left = (left - scan->deferred_max * sizeof(struct deferred)) / sizeof(*scan->edges.words);
	least = slots < EDGES_LEAST ? slots : EDGES_LEAST;
	return edges_init(&scan->edges, slots, left > least ? (uint32_t)left : least);
}

static void tear_down(struct scan *scan)
{
	scan->result->memory = bytes_taken(scan) + scan->edges.bytes + scan->origin_bytes +
			       scan->deferred_max * sizeof(struct deferred) +
			       scan->holes.capacity * sizeof(struct hole);
	feed_close(scan->reread_feed);
	free(scan->states);
	free(scan->ranges);
	edges_free(&scan->edges);
	bitset_free(&scan->pending);
	settled_free(&scan->settled);
	bitset_free(&scan->reread);
	vec_free(&scan->deferred);
	vec_free(&scan->references);
	vec_free(&scan->candidates);
	free(scan->origins);
	free(scan->tagged);
	vec_free(&scan->holes);
	free(scan);
}

static int scan_all(struct scan *scan)
{
	int err = set_up(scan);

	if (!err)
		err = scan_pass(scan);
	if (!err)
		err = scan_propagate(scan);
	if (err)
		return err;
	count_holes(scan);
	if (!scan->result->bytes_unreadable)
		err = scan_classify_unreachable(scan);
	if (!err)
		conclude(scan);
	return err;
}

static bool is_sound(const struct scan_input *input)
{
	if (input->word != 4 && input->word != 8)
		return false;
	return input->step && input->step <= input->word && input->word % input->step == 0;
}

/* From here on, the target is no longer needed, or no longer needs to be paused. */
static void let_go(struct scan_input *input)
{
	void (*collected)(void *ctx) = input->collected;

	input->collected = NULL;
	if (collected)
		collected(input->collected_ctx);
}

static int scan_sealed(const struct blocks *blocks, const struct scan_input *input,
		       struct scan_result *ret_result)
{
	struct scan_result result = {0};
	struct scan *scan = calloc(1, sizeof(*scan));
	int err;

	if (!scan)
		return -ENOMEM;
	scan->blocks = blocks;
	scan->input = input;
	scan->result = &result;
	err = scan_all(scan);
	tear_down(scan);
	if (err)
		scan_result_free(&result);
	else
		*ret_result = result;
	return err;
}

int scan_run(struct blocks *blocks, const struct scan_input *input, struct scan_result *ret_result)
{
	struct scan_input own = *input;
	struct scan_range *ranges = NULL;
	struct scan_result result;
	int status = is_sound(input) ? 0 : -EINVAL;

	if (!status && own.copy)
		status = copy_take(own.copy, &own);
	if (status > 0)
		let_go(&own);
	else
		own.copy = NULL;
	if (status >= 0)
		status = own_memory_exclude(&own, &ranges);
	if (!status)
		status = blocks_seal(blocks);
	if (!status)
		status = scan_sealed(blocks, &own, &result);
	free(ranges);
	let_go(&own);
	if (status)
		return status;
	result.copied = own.copy ? copy_bytes(own.copy) : 0;
	*ret_result = result;
	return 0;
}

enum leak_class scan_class_of(const struct scan_result *result, uint32_t slot)
{
	return (enum leak_class)result->class_of[slot];
}

void scan_result_free(struct scan_result *result)
{
	free(result->class_of);
	result->class_of = NULL;
}
