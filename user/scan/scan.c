/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mark phase of a garbage collector, from outside. Three things make it differ from one:
 * memory must be fetched through a system call, so it has to be read in large bites and in order,
 * not pointer by pointer; the process may be standing still meanwhile, so it should be read once
 * only; and our own memory is bounded at 16 bytes per block.
 *
 * One pass. Roots are read first, then all memory that holds blocks, in the order of addresses.
 * Each word that passes the filter is looked up (scan/block/blocks.c).
 * - From a root, or from a block that is known to be reachable, the block it points to is reachable
 *   at once.
 * - From a block of which that is not known (yet), the pointer is remembered as an edge
 *   (scan/mark/edges.c). Most are never stored: what they point to is reachable already, or stored
 *   in a run.
 * When all has been read, reachability spreads along the edges, in our own memory; the target is
 * not needed any more. This is what keeps a linked list of a million nodes in random order from
 * costing a million reads.
 *
 * In a heap full of pointers most lead to where everything is reachable already; these are sorted
 * out by region (scan/mark/settled.h) before they are looked up, and those that lead to before the
 * first or behind the last block that is not reachable yet do not even pass the filter.
 *
 * No room. Edges take what is left of 16 bytes per block: on average one for each block. A block
 * whose edges did not fit is flagged, and read again if it turns out to be reachable: all such
 * blocks that are known at that time together (scan/mark/again.c). Once there is no room, words of
 * blocks that are not reachable are not looked up at all. In the worst case, a random graph of
 * blocks that are all unreachable until the last one was read, most memory is read twice.
 *
 * Levels. A block is reached by start pointers only (START), or some interior pointer was on the
 * way (INTERIOR). START spreads first and to the end; then INTERIOR, over what is left, and from
 * then on whatever has a level is settled. So every block's edges are followed at most once.
 * Whether an interior pointer follows an idiom depends on the block it points to; of each block
 * that the pass comes by, five bits say what it looks like, and pointers to blocks that it has not
 * come by are put off (`deferred`). If there is no room, the block is looked at out of turn.
 *
 * Tags. Lock-free structures keep a counter in the upper 16 bits of a pointer, and interpreters a
 * type. A word that equals the start of a block once these bits are cleared counts like an interior
 * pointer: its block is not lost for certain, and not reachable for certain either.
 *
 * Stacks hold leftovers: words of calls that have returned, of arrays that were never written. So
 * stacks and registers are read after the other roots. The caller may tell which of their words the
 * program can still read (scan_input.judge); only these are roots. Of blocks to which a word leads
 * that the caller can tell nothing about, see scan/mark/stack_only.h. The judge is asked before the
 * heap is read, and not about single blocks later: where everything hangs below a local variable of
 * main, nothing would be known to be reachable while the heap is read.
 *
 * The process waits for none of this if there is memory for a copy of its own (scan/read/copy.c).
 *
 * What is lost. As few blocks as possible shall be definite, so that all others hang below them:
 * one of each cycle that nothing leads to, and each block outside of cycles that nothing leads to.
 * Two rounds do it. First, by ascending address, each block that has not been visited becomes a
 * head, and all that it leads to is visited. A later head may lead to an earlier one, but never the
 * other way round. So the last head is led to by nothing but its own cycle, in which it has the
 * lowest address. Then, by descending address, all that a head leads to is indirect, other heads
 * included. memcheck (mc_leakcheck.c, "cliques") has the first round only: what leads into a lost
 * cycle is definite there, but so is a block of the cycle. As there, interior pointers are as good
 * as others.
 *
 * Nothing is called lost if a page of a root could not be read, or one of a block that is reached:
 * such a page might hold the pointer that is missing. A page of a lost block does no harm.
 *
 * Speed is bounded by the memory behind the tables: a look-up misses the cache twice, and only so
 * many misses can be under way. Measured by tests/bench/scan_bench N 1: a million blocks, one core
 * with AVX-512, a dozen other processes at work on two cores, medians of seven rounds; what reading
 * alone reaches in the same round is 100%, and what it reaches with the filter in brackets:
 *
 *   text and numbers                       78 to 82% (93%)  a third of the rest is the filter
 *   one word in sixteen a pointer          42 to 48% (82%)  looking up what is reached just then
 *   every word a pointer                   43 to 46% (84%)
 *   likewise, each hundredth block lost    24 to 27% (90%)  its neighbours are asked for to the end
 *   each tenth word, a random graph        22%              two thirds are read twice
 *   every word an interior pointer         23%              everything is read twice
 *   64-byte blocks, a list at random       6 to 10% (88%)   misses that depend on each other
 *   64-byte blocks, a random graph         4 to 5% (90%)    half are read again
 *
 * A list has one pointer to follow at a time, and what is fetched ahead (scan/mark/spread.c) is for
 * those that wait beside it: there each block costs the misses for its edges, one after the other.
 *
 * Cost: linear in memory and in edges. Per block 6 bytes for address and size, 1.5 to 3 for the
 * buckets, 1 for the state, 1 for sets of bits, and the rest for edges; buffers come out of that
 * rest, too, as long as there is any: half a megabyte, and three times as much with a second core.
 * A copy takes what the process has, on top of that.
 */
#include "scan/scan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "scan/allocator/own_memory.h"
#include "scan/mark/mark.h"
#include "scan/mark/pass.h"
#include "scan/mark/spread.h"
#include "scan/read/copy.h"

#define BYTES_PER_BLOCK 16
#define DEFERRED_SHARE  32           /* of the room for edges: one part in so many */
#define EDGES_LEAST     (128 * 1024) /* or one per block: for heaps too small for our buffers */

/* What of the unreadable content of blocks matters: that of those that are reached. */
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
	return state & LOST_INDIRECT ? LEAK_INDIRECT : LEAK_DEFINITE;
}

/* To a class of their own, whatever their class was. */
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

/* From states to classes, in place. Most blocks are reachable; they are passed by in eights. */
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

/* What does not depend on how many pointers there are. One feed is closed before the next opens. */
static size_t bytes_taken(const struct scan *scan)
{
	return sizeof(*scan) + feed_memory(scan->input->read_ahead) + scan->blocks->bytes +
	       scan->blocks->slots + scan->pending.bytes + scan->again.bytes + scan->settled.bytes +
	       (scan->input->range_count + 1) * sizeof(*scan->ranges);
}

/* What is left for edges and deferred pointers. */
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
	    bitset_init(&scan->again, slots) || settled_init(&scan->settled, scan->blocks) ||
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
	feed_close(scan->again_feed);
	free(scan->states);
	free(scan->ranges);
	edges_free(&scan->edges);
	bitset_free(&scan->pending);
	settled_free(&scan->settled);
	bitset_free(&scan->again);
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
		err = scan_spread(scan);
	if (err)
		return err;
	count_holes(scan);
	if (!scan->result->bytes_unreadable)
		err = scan_sort_lost(scan);
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

/* The target is not needed from here on, or not needed to stand still. */
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
