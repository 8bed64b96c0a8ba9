// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When a thread has exited, its stack stays mapped for the next thread (glibc's nptl/nptl-stack.c).
 * It still holds the locals of functions that have returned and, below the thread control block
 * (TCB, "struct pthread"), the values of its thread-local variables. All of that is dead.
 *
 * On x86 the first and the third word of a TCB hold its address ("tcbhead_t", sysdeps/x86_64 and
 * i386/nptl/tls.h), and a thread's thread pointer is that address. The caller has checked that no
 * thread uses the mapping. A TCB at its end shows that it was a thread's stack, if the running
 * threads have one like it. The TCB and the memory above it still count: they lead to thread-local
 * variables of libraries, which are freed later.
 */
#include "scan/allocator/glibc_stack.h"

#include <errno.h>
#include <stdlib.h>

#include "scan/allocator/word_reader.h"

#define TCB_STEP  16 /* bytes: a TCB begins at a multiple of it */
#define TCB_PAGES 4  /* at the end of the mapping, where a TCB can begin */

static bool is_tcb(struct word_reader *reader, uint64_t address)
{
	uint64_t first, third;

	return word_read(reader, address, &first) && first == address &&
	       word_read(reader, address + 2 * reader->input->word, &third) && third == address;
}

static uint64_t find_tcb_in_page(struct word_reader *reader, uint64_t page)
{
	for (uint64_t at = page; at < page + WORD_READER_BYTES; at += TCB_STEP)
		if (is_tcb(reader, at))
			return at;
	return 0;
}

/* Returns the start of the TCB, or 0 if there is none. */
static uint64_t find_tcb(struct word_reader *reader, const struct scan_range *range)
{
	uint64_t page = range->end, tcb = 0;

	for (unsigned int i = 0; !tcb && i < TCB_PAGES && page > range->start; i++) {
		page -= WORD_READER_BYTES;
		if (word_may_be_at(reader->input, page))
			tcb = find_tcb_in_page(reader, page);
	}
	return tcb;
}

static int add_stacks(struct word_reader *reader, struct owned_extents *extents)
{
	const struct scan_input *input = reader->input;

	for (size_t i = 0; i < input->range_count; i++) {
		const struct scan_range *range = &input->ranges[i];
		struct owned_extent stack = {.start = range->start};

		if (range->idle)
			stack.end = find_tcb(reader, range);
		if (stack.end && vec_push(&extents->list, stack))
			return -ENOMEM;
	}
	return 0;
}

int glibc_stacks_find(const struct scan_input *input, struct owned_extents *extents)
{
	struct word_reader *reader = calloc(1, sizeof(*reader));
	int err = 0;

	if (!reader)
		return -ENOMEM;
	reader->input = input;
	if (input->thread_pointer && is_tcb(reader, input->thread_pointer))
		err = add_stacks(reader, extents);
	free(reader);
	return err;
}
