/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histogram classes of allocation sizes, by powers of two: class k has sizes above 2^(k-1) and up
 * to 2^k. */
#ifndef MTRACE_MODEL_BLOCK_SIZE_CLASS_H
#define MTRACE_MODEL_BLOCK_SIZE_CLASS_H

#include <stdint.h>

#define SIZE_CLASSES 65

static inline unsigned int size_class(uint64_t bytes)
{
	return bytes > 1 ? 64 - (unsigned int)__builtin_clzll(bytes - 1) : 0;
}

#endif
