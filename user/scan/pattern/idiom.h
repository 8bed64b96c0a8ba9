/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pointers into the interior of a block that programs use in place of the one to its start: the
 * rules of memcheck's --leak-check-heuristics (valgrind, memcheck/mc_leakcheck.c), and two more. An
 * interior pointer that follows one of them counts as a pointer to the start. So an idiom never
 * makes of a block that nothing points to one that something does; at worst "possible" becomes
 * "reachable". What each asks for as evidence is in idiom.c.
 */
#ifndef MTRACE_SCAN_PATTERN_IDIOM_H
#define MTRACE_SCAN_PATTERN_IDIOM_H

#include <stdbool.h>
#include <stdint.h>

#include "scan/scan_types.h"

/*
 * What a block looks like, from its size and first bytes. Of the first ones only one can be: they
 * ask for different first words. The others may come on top.
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
 * All of that fits five bits, in which a block that was not looked at is 0: one more than the sum
 * of a kind (or 0) and of what comes on top.
 */
#define IDIOM_UNSEEN 0
#define IDIOM_NONE   1

#define IDIOM_BYTES 16 /* at most; there are as many, zero behind the end of the block */

static inline size_t idiom_bytes(const struct scan_input *input)
{
	return input->word == 8 ? IDIOM_BYTES : 12; /* glibc's malloc gives no less */
}

uint8_t idiom_looks(const struct scan_input *input, const void *bytes, uint64_t size);

/*
 * Does the pointer to `address`, in a block at `start` that looks so, stand for the block? Reads
 * memory only if it may point to a second base class (multiple inheritance), or to an sds string.
 */
bool idiom_accepts(const struct scan_input *input, uint8_t looks, uint64_t start, uint64_t address);

/* The image that holds the address, or NULL. */
const struct scan_image *idiom_image_at(const struct scan_input *input, uint64_t address);

#endif
