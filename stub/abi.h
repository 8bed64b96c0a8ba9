/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between the code that we map into a process (stub/, arch/x86_stub.S) and the
 * tracer: the data that both use, and the templates. The tracer makes one gate per function from
 * them (user/gate/). Included by both sides and by assembly.
 *
 * The data is anonymous private memory of the process, which the kernel wipes in a child
 * (MADV_WIPEONFORK). All zero means: sample nothing.
 */
#ifndef MTRACE_STUB_ABI_H
#define MTRACE_STUB_ABI_H

/* Where things are in the data, in bytes. */
#define STUB_SLOTS_AT   8192
#define STUB_SLOT_BITS  12
#define STUB_SLOT_SHIFT 6
#define STUB_SLOT_SIZE  (1 << STUB_SLOT_SHIFT)
#define STUB_SLOTS      (1 << STUB_SLOT_BITS)
#define STUB_FILTER_AT  (STUB_SLOTS_AT + STUB_SLOTS * STUB_SLOT_SIZE)
/* The filter has a counter of one byte for each hash of an address. */
#define STUB_FILTER_BITS 17
#define STUB_SET_AT      (STUB_FILTER_AT + (1 << STUB_FILTER_BITS))
#define STUB_SET_LINE    64 /* bytes of a line of the set */

/* Multiplicative hashing (Knuth, The Art of Computer Programming, 6.4) of the lower 32 bits. */
#define STUB_HASH 0x9e3779b1

/* Bytes of a gate's frame: bpf/abi.h has the same number (GATE_FRAME). */
#define STUB_FRAME 72

#define STUB_COPY_MAX 64 /* room for the copy of the displaced instructions */

#ifndef __ASSEMBLER__

#include <stdint.h>

/* What one thread has left until a byte is hit. */
struct stub_slot {
	uint64_t thread; /* its thread pointer; 0: unused */
	uint64_t budget; /* bytes */
	uint64_t random; /* state of the generator */
	uint32_t
		sample; /* the budget was drawn for the mean of this level, level + 1; 0: not yet */
	uint32_t pad[9];
};

struct stub_range {
	uint64_t start;
	uint64_t end;
};

#define STUB_RANGES 250

struct stub_data {
	uint64_t mean; /* of level 0, in bytes */
	uint64_t seed;
	uint64_t missed;     /* sampled blocks for which the set had no room: not reported */
	uint32_t sample;     /* the current level + 1; 0: sample nothing. The tracer changes it */
	uint32_t line_count; /* lines of the set, a power of two */
	uint32_t range_count;
	uint32_t pad[7];
	/* The gates, and the functions that have gates: a call from there is nested in another
	 * call. */
	struct stub_range ranges[STUB_RANGES];
};

/* A line of the set of sampled blocks: their addresses; 0: free. The lowest bit marks a block that
 * a realloc is about to release. */
#define STUB_LINE_BLOCKS 8
struct stub_line {
	uint64_t blocks[STUB_LINE_BLOCKS];
};

/* The verdict of stub_begin(): the sample of the new block, which may be SAMPLE_NOT; and the old
 * block is a sampled one. 0: nothing to report. */
#define STUB_SAMPLE(verdict) ((verdict)&0xff)
#define STUB_OLD_SAMPLED     0x100u

_Static_assert(sizeof(struct stub_slot) == STUB_SLOT_SIZE, "a slot is a cache line");
_Static_assert(sizeof(struct stub_data) <= STUB_SLOTS_AT, "the slots follow the head");
_Static_assert(sizeof(struct stub_line) == STUB_SET_LINE, "a line of the set is a cache line");

/* The kinds of gates: which arguments of the function have the size, and what is done. */
enum stub_kind {
	STUB_SIZE_FIRST,    /* malloc(size), operator new(size, …) */
	STUB_SIZE_SECOND,   /* aligned_alloc(alignment, size) */
	STUB_SIZE_THIRD,    /* posix_memalign(&block, alignment, size) */
	STUB_COUNT_SIZE,    /* calloc(count, size) */
	STUB_NEW,           /* operator new(size), which may throw */
	STUB_NEW_ALIGNED,   /* operator new(size, alignment), the same */
	STUB_REALLOC,       /* realloc(block, size) */
	STUB_REALLOC_COUNT, /* reallocarray(block, count, size) */
	STUB_FREE,          /* free(block), operator delete(block, …) */
	STUB_KINDS,
};

/* The template of a gate: code at `start`, to be copied to a place of its own. Offsets are from
 * the start of the image (start) and from the start of the template (all others). */
struct stub_template {
	uint32_t start;
	uint32_t size;
	uint32_t copy;      /* the room for the copy of the displaced instructions */
	uint32_t probes[2]; /* probe sites: of the call, or of its begin and end; 0: none */
	uint32_t other;     /* the 8 bytes of the address of another function; 0: none */
	uint32_t data[3];   /* 8 bytes each for the address of the data; 0: unused */
	uint32_t base[2];   /* 8 bytes each with the offset of a function in the image, to which
			       the image's address is added; 0: unused */
};

/* The image starts with this. */
struct stub_head {
	struct stub_template templates[STUB_KINDS];
};

#endif
#endif
