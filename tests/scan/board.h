/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What recorder.so notes about a program's blocks, in memory that it shares with scan_process. */
#ifndef MTRACE_TESTS_BOARD_H
#define MTRACE_TESTS_BOARD_H

#include <stdint.h>

#define BOARD_NOTES (1u << 20) /* a power of two, at least twice the number of blocks */
#define BOARD_MASK  0x5555555555555555ULL

/* A hash table by address. The note of a freed block stays, because its address is reused. */
struct note {
	uint64_t hidden; /* address ^ BOARD_MASK; 0: unused */
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
