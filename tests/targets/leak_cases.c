/* SPDX-License-Identifier: GPL-2.0-or-later */
/* leak_cases: every shape of leaked and referenced blocks; see leak_truth.h. */
#include "leak_truth.h"

#include <malloc.h>

/*
 * Long enough that a recursive scan would overflow its stack. Shorter if numbers and text often
 * look like heap addresses: with 32-bit addresses, or with valgrind's low ones.
 */
#ifndef CHAIN
#define CHAIN 100000L
#endif

/* Nothing points to the block. */

CASE(lost, .definite = {1, SIZE})
{
	block(SIZE);
}

CASE(lost_three, .definite = {3, 3 * SIZE})
{
	for (int i = 0; i < 3; i++)
		block(SIZE);
}

CASE(lost_overwritten, .definite = {1, SIZE}, .reachable = {1, 2 * SIZE})
{
	ROOT(root);

	root = block(SIZE);
	root = block(2 * SIZE);
}

CASE(lost_empty, .definite = {1, 0})
{
	checked(malloc(truth_opaque(0)));
}

/* malloc maps pages for it. It is no larger than needed for that, because random words point into
 * it in a 32-bit address space. */
CASE(lost_huge, .definite = {1, 1 << 18}, .indirect = {1, SIZE})
{
	void **huge = block(1 << 18);

	huge[1000] = block(SIZE);
}

CASE(lost_realloc, .definite = {1, 4096})
{
	void **small = block(SIZE);

	small = (void **)checked(realloc(small, 4096));
	small[0] = NULL;
}

CASE(lost_aligned, .definite = {3, 3 * 4096})
{
	void *memory;

	memset(checked(memalign(4096, 4096)), 0, 4096);
	memset(checked(aligned_alloc(256, 4096)), 0, 4096);
	if (posix_memalign(&memory, 64, 4096))
		abort();
	memset(memory, 0, 4096);
}

/* Only leaked blocks point to the block. */

static void **chain_of(size_t length)
{
	void **first = NULL;

	while (length--) {
		void **next = first;

		first = block(SIZE);
		first[0] = next;
	}
	return first;
}

CASE(lost_chain, .definite = {1, SIZE}, .indirect = {2, 2 * SIZE})
{
	chain_of(3);
}

CASE(lost_long_chain, .definite = {1, SIZE}, .indirect = {CHAIN - 1, (CHAIN - 1) * SIZE})
{
	chain_of(CHAIN);
}

/* The order of the nodes in memory differs from that of the links. */
CASE(lost_shuffled_chain, .definite = {1, SIZE}, .indirect = {CHAIN - 1, (CHAIN - 1) * SIZE})
{
	static uintptr_t hidden[CHAIN];
	long step = 61803 % CHAIN; /* has no factor in common with CHAIN */

	for (long i = 0; i < CHAIN; i++)
		hidden[i] = HIDE(block(SIZE));
	for (long i = 0, at = 0; i + 1 < CHAIN; i++, at = (at + step) % CHAIN)
		((void **)SHOW(hidden[at]))[3] = SHOW(hidden[(at + step) % CHAIN]);
}

static void **tree_of(int depth)
{
	void **node = block(SIZE);

	if (depth > 1) {
		node[1] = tree_of(depth - 1);
		node[4] = tree_of(depth - 1);
	}
	return node;
}

CASE(lost_tree, .definite = {1, SIZE}, .indirect = {14, 14 * SIZE})
{
	tree_of(4);
}

CASE(lost_root_freed, .definite = {2, 2 * SIZE}, .indirect = {12, 12 * SIZE})
{
	free(tree_of(4));
}

CASE(lost_below_two, .definite = {2, 2 * SIZE}, .indirect = {1, SIZE})
{
	void **below = block(SIZE);

	block(SIZE)[2] = below;
	block(SIZE)[2] = below;
}

CASE(lost_below_interior, .definite = {1, SIZE}, .indirect = {1, SIZE})
{
	void **below = block(SIZE);

	block(SIZE)[0] = below + 2;
}

CASE(lost_points_to_held, .definite = {1, SIZE}, .reachable = {1, SIZE})
{
	ROOT(root);

	root = block(SIZE);
	block(SIZE)[0] = root;
}

/* Cycles: one block represents each. */

CASE(lost_to_itself, .definite = {1, SIZE})
{
	void **self = block(SIZE);

	self[1] = self;
}

static void **cycle_of(size_t length)
{
	void **first = chain_of(length), **last = first;

	while (last[0])
		last = (void **)last[0];
	last[0] = first;
	return first;
}

CASE(lost_cycle, .definite = {1, SIZE}, .indirect = {2, 2 * SIZE})
{
	cycle_of(3);
}

CASE(lost_long_cycle, .definite = {1, SIZE}, .indirect = {CHAIN - 1, (CHAIN - 1) * SIZE})
{
	cycle_of(CHAIN);
}

/* The cycle is allocated first, so that it has the lower address. */
CASE(lost_to_cycle, .definite = {1, SIZE}, .indirect = {2, 2 * SIZE})
{
	void **cycle = cycle_of(2);

	block(SIZE)[3] = cycle;
}

CASE(lost_to_cycle_above, .definite = {1, SIZE}, .indirect = {2, 2 * SIZE})
{
	void **first = block(SIZE);

	first[3] = cycle_of(2);
}

CASE(lost_cycle_to_cycle, .definite = {1, SIZE}, .indirect = {3, 3 * SIZE})
{
	void **second = cycle_of(2);

	cycle_of(2)[3] = second;
}

CASE(lost_two_cycles, .definite = {2, 2 * SIZE}, .indirect = {2, 2 * SIZE})
{
	cycle_of(2);
	cycle_of(2);
}

/* Like a kernel list: next and previous point into the nodes. */
static void **ring_of(size_t length)
{
	void **head = block(SIZE), **last = head;

	for (size_t i = 1; i < length; i++) {
		void **node = block(SIZE);

		last[2] = node + 2;
		node[3] = last + 2;
		last = node;
	}
	last[2] = head + 2;
	head[3] = last + 2;
	return head;
}

CASE(lost_ring, .definite = {1, SIZE}, .indirect = {9, 9 * SIZE})
{
	ring_of(10);
}

/* Referenced. */

CASE(held, .reachable = {1, SIZE})
{
	ROOT(root);

	root = block(SIZE);
}

CASE(held_empty, .reachable = {1, 0})
{
	ROOT(root);

	root = checked(malloc(truth_opaque(0)));
}

CASE(held_huge, .reachable = {2, (1 << 20) + SIZE})
{
	ROOT(root);

	root = block(1 << 20);
	root[100000] = block(SIZE);
}

CASE(held_long_chain, .reachable = {CHAIN, CHAIN *SIZE})
{
	ROOT(root);

	root = chain_of(CHAIN);
}

CASE(held_cycle, .reachable = {3, 3 * SIZE})
{
	ROOT(root);

	root = cycle_of(3);
}

CASE(held_tree, .reachable = {15, 15 * SIZE})
{
	ROOT(root);

	root = tree_of(4);
}

CASE(held_realloc, .reachable = {2, 4096 + SIZE})
{
	ROOT(root);

	root = block(SIZE);
	root[1] = block(SIZE);
	root = (void **)checked(realloc(root, 4096));
	memset(root + 2, 0, 4096 - 2 * sizeof(*root));
}

CASE(held_aligned, .reachable = {1, 4096})
{
	ROOT(root);

	root = checked(memalign(4096, 4096));
	memset(root, 0, 4096);
}

/* The bytes that malloc adds to fill the chunk belong to a program that asks for their number. */
CASE(held_by_rounding, .reachable = {2, SIZE + 33})
{
	ROOT(root);
	size_t last = 32 / sizeof(void *);

	root = (void **)checked(malloc(truth_opaque(33)));
	memset(root, 0, 33);
	if (malloc_usable_size(root) >= 32 + sizeof(void *))
		root[last] = block(SIZE);
	else
		root[0] = block(SIZE);
}

/* Referenced by a pointer into the block. */

CASE(interior, .possible = {1, SIZE})
{
	ROOT(root);

	root = block(SIZE) + 2;
}

CASE(interior_last_byte, .possible = {1, SIZE})
{
	ROOT(root);

	root = (void **)((char *)block(SIZE) + SIZE - 1);
}

/* A flag in the lowest bit, as in some trees and strings. */
CASE(interior_tagged, .possible = {1, SIZE})
{
	ROOT(root);

	root = (void **)((char *)block(SIZE) + 1);
}

#if UINTPTR_MAX > UINT32_MAX

#define TAGGED(pointer) ((void **)((uintptr_t)(pointer) | (uintptr_t)0x1234 << 48))

/* A number in the upper 16 bits, as in lock-free lists and interpreters. */
CASE(tagged, .possible = {1, SIZE})
{
	ROOT(root);

	root = TAGGED(block(SIZE));
}

CASE(tagged_chain, .possible = {3, 3 * SIZE})
{
	ROOT(root);

	for (int i = 0; i < 3; i++) {
		void **next = root;

		root = TAGGED(block(SIZE));
		((void **)((uintptr_t)root << 16 >> 16))[0] = next;
	}
}

CASE(tagged_in_lost_chain, .definite = {1, SIZE}, .indirect = {1, SIZE})
{
	block(SIZE)[0] = TAGGED(block(SIZE));
}

#endif

CASE(interior_of_huge, .possible = {1, 1 << 20})
{
	ROOT(root);

	root = block(1 << 20) + 70000;
}

CASE(interior_above_chain, .possible = {3, 3 * SIZE})
{
	ROOT(root);

	root = chain_of(3) + 1;
}

CASE(interior_within_chain, .possible = {2, 2 * SIZE}, .reachable = {1, SIZE})
{
	ROOT(root);

	root = block(SIZE);
	root[0] = chain_of(2) + 3;
}

CASE(interior_and_start, .possible = {1, SIZE}, .reachable = {1, SIZE})
{
	ROOT(root_interior);
	ROOT(root_start);
	void **first = chain_of(2);

	root_interior = first + 3;
	root_start = first[0];
}

CASE(interior_ring, .possible = {9, 9 * SIZE}, .reachable = {1, SIZE})
{
	ROOT(root);

	root = ring_of(10);
}

/* If an allocator places blocks side by side, this is the start of the next one. */
CASE(one_past_the_end, .definite = {1, SIZE}, .reachable = {1, SIZE})
{
	ROOT(root);
	ROOT(next);

	root = block(SIZE) + WORDS;
	next = block(SIZE);
}

/* The length, followed by that many bytes: sqlite's blocks. */
CASE(interior_length, .reachable = {1, 8 + SIZE})
{
	ROOT(root);
	uint64_t *memory = (uint64_t *)block(8 + SIZE);

	memory[0] = SIZE;
	root = (void **)(memory + 1);
}

/* Length, capacity and type in three bytes, then characters and a 0: redis' strings. */
static char *characters_of(size_t length)
{
	unsigned char *memory = (unsigned char *)block(3 + length + 1);

	memory[0] = memory[1] = (unsigned char)length;
	memory[2] = 1;
	memset(memory + 3, 'x', length);
	return (char *)memory + 3;
}

CASE(interior_characters, .reachable = {1, 44})
{
	ROOT(root);

	root = (void **)characters_of(40);
}

/* Nothing points there, so it is leaked although it looks like a string. */
CASE(lost_characters, .definite = {1, 44})
{
	characters_of(40);
}

/* Like before, but with a length that is not that of the block. */
CASE(interior_no_characters, .possible = {1, 44})
{
	ROOT(root);
	char *characters = characters_of(40);

	characters[-3] = 50;
	root = (void **)characters;
}

/* Unaligned pointers. */

struct __attribute__((packed)) packed {
	char before[4];
	void *pointer;
};

#if __SIZEOF_POINTER__ == 8
CASE(unaligned_by_four, .definite = {1, SIZE})
#else
CASE(unaligned_by_four, .reachable = {1, SIZE})
#endif
{
	static struct packed root __attribute__((aligned(16)));

	root.pointer = block(SIZE);
	__asm__ volatile("" : : "r"(&root) : "memory");
}

CASE(unaligned_by_one, .definite = {1, SIZE})
{
	static char root[32] __attribute__((aligned(16)));
	void *memory = block(SIZE);

	memcpy(root + 9, &memory, sizeof(memory));
	__asm__ volatile("" : : "r"(&root) : "memory");
}

CASE(unaligned_in_block, .definite = {1, SIZE}, .reachable = {1, SIZE})
{
	ROOT(root);
	void *memory = block(SIZE);

	root = block(SIZE);
	memcpy((char *)root + 21, &memory, sizeof(memory));
}

/* Freed blocks hold nothing. */

/*
 * malloc writes into the first two words of a freed block, and nothing writes into the fifth. The
 * block is between known ones, because memory before the first block is a root anyway
 * (scan/pattern/gap.c).
 */
CASE(stale_in_freed, .definite = {1, SIZE}, .reachable = {2, 2 * SIZE})
{
	ROOT(below);
	ROOT(above);
	void **freed;

	below = block(SIZE);
	freed = block(SIZE);
	freed[4] = block(SIZE);
	above = block(SIZE);
	free(freed);
}

int main(void)
{
	leak_main();
}
