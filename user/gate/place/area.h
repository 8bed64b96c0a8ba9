/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds free address space for the code and data of gates (gate/place.h), near the functions that
 * have the gates: jumps, and operands relative to the instruction pointer, reach 2 GiB.
 */
#ifndef MTRACE_GATE_PLACE_AREA_H
#define MTRACE_GATE_PLACE_AREA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GATE_PAGE 4096ULL /* of x86-64, the only processor that has gates */

/* What an occupied range needs of the free space next to it. */
enum area_use {
	AREA_OTHER,  /* only a small distance */
	AREA_HEAP,   /* grows upwards, by brk(2) */
	AREA_STACK,  /* grows downwards; how far is unknown */
	AREA_MEMORY, /* anonymous memory, perhaps a stack that grows downwards (MAP_GROWSDOWN) */
};

struct area_range {
	uint64_t start, end;
	enum area_use use;
};

struct area_request {
	uint64_t low, high;  /* the functions, and whatever their first instructions refer to */
	uint64_t size;       /* bytes; rounded up to pages */
	uint64_t floor, top; /* limits of the addresses that can be mapped */
};

/*
 * Finds `size` bytes that are free and page-aligned, each of them within 2 GiB - 1 MiB of each byte
 * of [low, high): those nearest to it. `ranges` are all occupied ones, sorted by address. Returns
 * 0, or -ENOSPC if there are none.
 */
int gate_area_search(const struct area_range *ranges, size_t count,
		     const struct area_request *request, uint64_t *ret_address);

/* The same for a process. Also returns other errors: -ESRCH if it has exited. Nothing reserves the
 * area, so mapping it can fail. */
int gate_area_find(pid_t pid, uint64_t low, uint64_t high, uint64_t size, uint64_t *ret_address);

#endif
