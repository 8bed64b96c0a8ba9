/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pointers into the interior of a block that programs use in place of the one to its start: the
 * rules of memcheck's --leak-check-heuristics (valgrind, memcheck/mc_leakcheck.c). An interior
 * pointer that follows one of them counts as a pointer to the start.
 */
#ifndef MTRACE_SCAN_IDIOM_H
#define MTRACE_SCAN_IDIOM_H

#include <stdbool.h>
#include <stdint.h>

#include "scan/scan.h"

/* What a block looks like, from its size and first two words: bits. */
enum idiom {
	IDIOM_STRING = 1, /* std::string before C++11: length, capacity, references, characters */
	IDIOM_LENGTH = 2, /* the length of the rest in 64 bits, and the rest (sqlite) */
	IDIOM_COUNT = 4,  /* new T[n] with a destructor: n, and n elements */
	IDIOM_OBJECT = 8, /* begins with what may be a pointer to a vtable */
};

#define IDIOM_WORDS 2

uint8_t idiom_of(const struct scan_input *input, const uint64_t first[IDIOM_WORDS], uint64_t size);

/*
 * Does the pointer to `address`, in a block at `start` with these bits, stand for the block? Reads
 * memory only if it may point to a second base class (multiple inheritance).
 */
bool idiom_accepts(const struct scan_input *input, uint8_t idioms, uint64_t start,
		   uint64_t address);

/* The image that holds the address, or NULL. */
const struct scan_image *idiom_image_at(const struct scan_input *input, uint64_t address);

#endif
