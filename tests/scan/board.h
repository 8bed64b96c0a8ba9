/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What recorder.so notes of a program's blocks, in memory that scan_process shares with it. */
#ifndef MTRACE_TESTS_BOARD_H
#define MTRACE_TESTS_BOARD_H

#include <stdint.h>

#define BOARD_NOTES (1u << 20) /* a power of two, twice as many as blocks at least */
#define BOARD_MASK  0x5555555555555555ULL

/* By the address, hashed. A freed block's note stays, for its address comes again. */
struct note {
	uint64_t hidden; /* address ^ BOARD_MASK; 0: none so far */
	uint64_t size;
	int32_t number; /* of the case; -1: none */
	int32_t live;
};

struct board {
	uint32_t lock;
	uint32_t overflow;
	struct note notes[BOARD_NOTES];
};

#endif
