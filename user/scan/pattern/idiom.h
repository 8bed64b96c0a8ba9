/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interior pointers that programs use instead of a pointer to the start of a block: those of
 * memcheck's --leak-check-heuristics (valgrind, memcheck/mc_leakcheck.c), and more. They count as
 * pointers to the start. So an idiom never hides a block to which nothing points; at worst
 * "possible" becomes "reachable". idiom.c says which evidence each of them needs.
 */
#ifndef MTRACE_SCAN_PATTERN_IDIOM_H
#define MTRACE_SCAN_PATTERN_IDIOM_H

#include <stdbool.h>
#include <stdint.h>

#include "scan/scan_types.h"

/*
 * What a block looks like, from its size and first bytes. At most one of the first kinds
 * applies, because they need different first words. The others may apply in addition.
 */
enum idiom {
	IDIOM_STRING = 1, /* std::string before C++11: length, capacity, references, characters */
	IDIOM_LENGTH,     /* the length of the rest in 64 bits, and the rest (sqlite) */
	IDIOM_OBJECT,     /* begins with what may be a pointer to a vtable */
	IDIOM_DTV,        /* glibc's index of a thread's TLS: length, 0, entries of two words */
	IDIOM_SIZED,      /* new T[n] with a destructor on ARM: the size of T, n, and n elements */
	IDIOM_KINDS,
	IDIOM_COUNT = IDIOM_KINDS, /* new T[n] with a destructor: n, and n elements */
	IDIOM_SDS =
		2 * IDIOM_KINDS, /* length, room and type in 1 to 17 bytes, characters (redis) */
};

/*
 * All of this fits into five bits: one more than the sum of a kind (or 0) and the additional ones.
 * 0 is a block that was not looked at.
 */
#define IDIOM_UNSEEN 0
#define IDIOM_NONE   1

#define IDIOM_BYTES 16 /* at most; zero after the end of the block */

static inline size_t idiom_bytes(const struct scan_input *input)
{
	return input->word == 8 ? IDIOM_BYTES : 12; /* glibc's minimum */
}

uint8_t idiom_looks(const struct scan_input *input, const void *bytes, uint64_t size);

/*
 * Returns true if the pointer to `address` counts as a pointer to the start of the block, which is
 * at `start` and has these looks. Reads memory only if the pointer may be one to a second base
 * class (multiple inheritance) or to an sds string.
 */
bool idiom_accepts(const struct scan_input *input, uint8_t looks, uint64_t start, uint64_t address);

/* Returns the image that holds the address, or NULL. */
const struct scan_image *idiom_image_at(const struct scan_input *input, uint64_t address);

#endif
