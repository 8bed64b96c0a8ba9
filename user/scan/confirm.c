/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A running program moves pointers while it is scanned. Suppose that the only pointer to a block is
 * copied from B to A, and then B is overwritten, after the scan has read A and before it reads B.
 * The scan then sees the pointer in neither place, and the block looks leaked although it is live.
 * The opposite error does no harm: a stale copy hides a leak until the next pass.
 *
 * A leaked block stays leaked. To make a pointer to it, the program would have to copy one, and it
 * cannot reach any; nor can it free the block. So each pass that begins after the leak finds it,
 * and intersecting the passes only loses blocks that were leaked in between. (A pointer that the
 * scan cannot see, because it is mangled or only the kernel has it, breaks both statements; scan.h
 * lists these cases.)
 *
 * For one pass to miss a live block, all pointers to it must have moved during that pass, from
 * memory that was not read yet to memory that was. So a block that N passes call leaked is leaked,
 * unless its pointers moved in that direction during each of them. A block whose pointers move less
 * than N times during the passes is never called leaked. This is a proof for memory at rest, and
 * most memory is at rest.
 *
 * It is no proof for a pointer that moves all the time, such as an element in flight between
 * queues. If the pointer is in one of k places at random whenever one of them is read, a pass
 * misses it with probability (1 - 1/k)^k: 1/4 for two places, and less than 1/e for any number of
 * places, however unevenly it visits them (by the inequality of arithmetic and geometric means). N
 * passes all miss it with a probability below e^-N: 14% for two, 5% for three, 0.7% for five. In
 * practice it is far less, because a moving pointer mostly passes through a register or a stack,
 * which are also read. But no number of passes makes it zero. For certainty, stop the process:
 * --scan-stop.
 *
 * That is for a single block. A program that keeps freed objects in lists of its own has hundreds
 * in motion. Measured with three Python threads that make dictionaries: five passes left 1 to 8 of
 * about 300 blocks, in 7 of about 30 scans. But each pass leaves less than 1/e of them. So only the
 * passes since the last one that cleared a suspect count: once N in a row clear none, a false leak
 * is as unlikely as above for each block in motion, however many there were. Hundreds of them take
 * about six more passes. The number of passes is bounded, for programs whose suspects never come to
 * rest.
 *
 * A block must be the same one in all passes. Addresses are reused, so a suspect carries the time
 * of its allocation. A block that was freed in between is no longer a suspect.
 */
#include "scan/confirm.h"

#include <errno.h>

static bool is_lost(enum leak_class class)
{
	return class == LEAK_DEFINITE || class == LEAK_INDIRECT;
}

static int add_all(struct confirm *confirm, const struct blocks *blocks,
		   const struct scan_result *result, uint64_t (*stamp)(void *, uint64_t), void *ctx)
{
	for (uint32_t slot = 0; slot < blocks->slots; slot++) {
		uint64_t address;

		if (!blocks_is_block(blocks, slot) || !is_lost(scan_class_of(result, slot)))
			continue;
		address = blocks_address(blocks, slot);
		if (vec_push(&confirm->suspects,
			     (struct suspect){.address = address, .stamp = stamp(ctx, address)}))
			return -ENOMEM;
	}
	return 0;
}

static bool is_confirmed(const struct suspect *suspect, const struct blocks *blocks,
			 const struct scan_result *result, uint64_t (*stamp)(void *, uint64_t),
			 void *ctx)
{
	uint32_t slot = blocks_at(blocks, suspect->address);

	return slot != SLOT_NONE && is_lost(scan_class_of(result, slot)) &&
	       stamp(ctx, suspect->address) == suspect->stamp;
}

int confirm_pass(struct confirm *confirm, const struct blocks *blocks,
		 const struct scan_result *result, uint64_t (*stamp)(void *ctx, uint64_t address),
		 void *ctx)
{
	const struct suspect *suspect;
	size_t kept = 0;

	if (!confirm->passes++) {
		confirm->agreed = 1;
		return add_all(confirm, blocks, result, stamp, ctx);
	}
	vec_each (suspect, &confirm->suspects)
		if (is_confirmed(suspect, blocks, result, stamp, ctx))
			confirm->suspects.items[kept++] = *suspect;
	confirm->agreed = kept == confirm->suspects.count ? confirm->agreed + 1 : 1;
	confirm->suspects.count = kept;
	return 0;
}

bool confirm_done(const struct confirm *confirm, unsigned int passes)
{
	return confirm->agreed >= passes || confirm->passes >= CONFIRM_PATIENCE * passes ||
	       (confirm->passes && !confirm->suspects.count);
}

static bool is_suspect(const struct confirm *confirm, uint64_t address)
{
	size_t low = 0, high = confirm->suspects.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (confirm->suspects.items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < confirm->suspects.count && confirm->suspects.items[low].address == address;
}

void confirm_apply(const struct confirm *confirm, const struct blocks *blocks,
		   struct scan_result *result)
{
	for (uint32_t slot = 0; slot < blocks->slots; slot++) {
		enum leak_class class = scan_class_of(result, slot);
		uint64_t size;

		if (!blocks_is_block(blocks, slot) || !is_lost(class) ||
		    is_suspect(confirm, blocks_address(blocks, slot)))
			continue;
		size = blocks_size(blocks, slot);
		result->classes[class].blocks--;
		result->classes[class].bytes -= size;
		result->classes[LEAK_UNKNOWN].blocks++;
		result->classes[LEAK_UNKNOWN].bytes += size;
		result->class_of[slot] = LEAK_UNKNOWN;
	}
}

void confirm_free(struct confirm *confirm)
{
	vec_free(&confirm->suspects);
	confirm->passes = 0;
	confirm->agreed = 0;
}
