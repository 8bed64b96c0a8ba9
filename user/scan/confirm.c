/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that runs moves pointers while it is scanned. Say the only pointer to a block is copied
 * from B to A, and B is overwritten, after A was read and before B is: then the scan sees it in
 * neither, and the block, though live all the time, looks lost. The opposite error does no harm: a
 * stale copy that was read hides a leak until the next pass.
 *
 * What holds for certain: a block that is lost stays lost. To make a pointer to it the program must
 * copy one, and there is none that it could reach; neither can it free the block. So a real leak is
 * found by every pass that begins after it happened, and intersecting passes loses nothing but the
 * blocks that were leaked in between. (A pointer that the scan cannot see, mangled or held by the
 * kernel, breaks both statements: scan.h lists these.)
 *
 * What several passes prove: for a live block to be missed by one pass, all of its pointers must
 * have moved, during that pass, from memory that was not yet read to memory that was. So a block
 * that N passes agree on is lost, unless it was moved in that direction at least once within each
 * of them. A block that is moved fewer than N times while the passes last is never called a leak.
 * That is a proof for memory that rests, and most memory does.
 *
 * It is none for a pointer that moves all the time, such as an element in flight between queues.
 * If it is found in one of k places at random whenever one of them is read, independently of the
 * reading, it is missed by a pass with probability (1 - 1/k)^k: 1/4 for two places, and for however
 * many, however unevenly it visits them, less than 1/e (by the inequality of the means). N passes
 * all miss it with less than e^-N: 14% for two, 5% for three, 0.7% for five. In practice it is far
 * less, because a pointer on the move mostly passes through a register or a stack, which are read,
 * too. But no number of passes makes it zero. Who needs certainty stops the process: --scan-stop.
 *
 * That is for one block, and a program that keeps freed objects in lists of its own has hundreds on
 * the move. Measured with three threads of Python that make dictionaries: five passes left 1 to 8
 * of some 300 blocks, in 7 of about 30 scans. But each pass leaves less than 1/e of them. So the
 * passes that count are those since the last one that cleared a suspect: when N in a row clear
 * none, it is for each block that still moves, however many there were, as unlikely as above.
 * Hundreds of them take some six passes more. There is a bound, for a program whose suspects never
 * come to rest.
 *
 * A block must be the same one in all passes: addresses are reused, so suspects carry the time of
 * their allocation. One that was freed in between is no suspect any more.
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
