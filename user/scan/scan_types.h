/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input and the result of a scan (scan/scan.h). */
#ifndef MTRACE_SCAN_SCAN_TYPES_H
#define MTRACE_SCAN_SCAN_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/snapshot/leak.h"
#include "os/memory/memory.h"

struct copy;

struct scan_extent {
	uint64_t start;
	uint64_t end;
	bool readable; /* false: it may hold anything, but cannot be read */
};

struct scan_memory {
	/*
	 * The first extent in [address, end) that may hold anything but zeros, clipped to that
	 * range. Returns 1, 0 if there is none, or -errno. Called from one thread at a time.
	 */
	int (*next)(void *ctx, uint64_t address, uint64_t end, struct scan_extent *ret_extent);
	/* Like memory_read (os/memory/memory.h). Called from several threads. */
	ssize_t (*read)(void *ctx, const struct memory_piece *pieces, size_t count, void *buffer);
	void *ctx;
};

struct scan_range {
	uint64_t start;
	uint64_t end;
	bool stack; /* a thread's stack: scan_input.classify classifies its words */
	bool heap;  /* it begins with glibc's first chunk, or a little before */
	bool idle;  /* no thread runs on it; it may be the stack of a thread that has exited */
	/* In a stack: memory from here on is thread-local data, not stack. 0: unknown. */
	uint64_t thread_data;
};

#define SCAN_IN_MEMORY UINT32_MAX

enum reference_answer {
	REFERENCE_UNKNOWN, /* not analysed: a root, but its block may be of class LEAK_STACK */
	REFERENCE_LIVE,    /* the program can read it, or is assumed to: a root */
	REFERENCE_DEAD,    /* the program can no longer read it: not a root */
};

/* A word on a stack or in a register that points into a block. */
struct scan_reference {
	uint64_t address;   /* of the word; in a register, its offset in bytes in registers[set] */
	uint32_t registers; /* index of the set in scan_input.registers, or SCAN_IN_MEMORY */
	enum reference_answer answer;
};

/* A mapping of a file, used to recognise vtables. */
struct scan_image {
	uint64_t start;
	uint64_t end;
	bool executable;
};

struct scan_bytes {
	const void *bytes;
	size_t size;
};

struct scan_input {
	const struct scan_memory *memory;
	/*
	 * All memory that counts, sorted and disjoint. Memory outside of blocks is a root. The
	 * content of blocks outside of the ranges is assumed to be empty.
	 */
	const struct scan_range *ranges;
	size_t range_count;
	const struct scan_image *images; /* sorted, disjoint */
	size_t image_count;
	const struct scan_bytes *registers; /* of threads; treated like words on stacks */
	size_t register_count;
	const uint64_t *kernel_words; /* that only the kernel keeps: roots */
	size_t kernel_word_count;
	unsigned int word; /* bytes of a pointer, 4 or 8 */
	unsigned int step; /* 1, 2, 4, 8; at most `word` */
	/* Sizes of glibc's chunks, including headers, are multiples of this; 0: 16. */
	unsigned int chunk;
	/*
	 * Every block of glibc's malloc is known: traced from the start, no events dropped, and no
	 * thread is within realloc. Then memory between two blocks is not a root if its chunk
	 * headers prove that it is free or the allocator's own.
	 */
	bool heap_is_known;
	/*
	 * The thread pointer of a running thread, used to recognise stacks of exited ones; 0 if
	 * unknown.
	 */
	uint64_t thread_pointer;
	/*
	 * Finds out which references the program can still read, and sets `answer` where that is
	 * known. Called at most once, for words on stacks and in registers that lead to blocks
	 * to which no other root leads. `memory` is what the scan reads. Returns 0 or -errno, which
	 * ends the scan. NULL: nothing is known about any of them.
	 */
	int (*classify)(void *ctx, const struct scan_memory *memory,
			struct scan_reference *references, size_t count);
	void *classify_ctx;
	bool read_ahead; /* use a separate thread for reading */
	/*
	 * Where to copy all memory first (scan/read/copy.h), so that the process need not stay
	 * paused. If NULL or without enough room, the process must be paused during the whole scan,
	 * or may run if the caller can handle the result (scan/confirm.h).
	 */
	struct copy *copy;
	/*
	 * Called once when memory and registers may change again, even if the scan fails. The
	 * memory must stay accessible until scan_run returns. May be NULL.
	 */
	void (*collected)(void *ctx);
	void *collected_ctx;
};

struct scan_sum {
	uint64_t blocks;
	uint64_t bytes;
};

struct scan_result {
	struct scan_sum classes[LEAK_CLASS_COUNT];
	uint64_t bytes_scanned;
	uint64_t bytes_unreadable; /* of roots and of reached blocks */
	uint64_t bytes_between;    /* outside of blocks, in ranges with blocks … */
	uint64_t bytes_free;       /* … certainly free; 0 if the heap is known */
	uint64_t blocks_tagged;    /* of LEAK_POSSIBLE: first reached by a tagged pointer */
	uint64_t references_dead;  /* words that the program can no longer read */
	uint64_t bytes_read_again; /* because there was no room to remember their pointers */
	size_t memory;             /* bytes used by the scan, including blocks and buffers */
	size_t copied;             /* bytes in input.copy; 0: scanned in place */
	uint8_t *class_of;         /* by slot; use scan_class_of to read it */
};

#endif
