// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jemalloc 5 maps blocks of 2 MiB or a multiple of it for its metadata alone ("struct
 * base_block_s", include/jemalloc/internal/base.h). For each extent (a large block, or a slab of
 * small ones) they hold its address, which is that of the first block in it.
 *
 * A block lies at a multiple of 2 MiB. It begins with its size, the address of the next block, and
 * a description of what is unused of it, which always reaches to its end: 8 bytes of flags, an
 * address, and a size. So address + size is the block's end, which nothing else is likely to say of
 * itself at such a place.
 */
#include "scan/allocator/metadata_block.h"

#include <errno.h>
#include <stdlib.h>

#include "scan/allocator/word_reader.h"

#define ALIGNMENT   (2ULL << 20)
#define FLAGS_BYTES 8

/* Returns where the block ends that begins at the address; 0 if none does. */
static uint64_t block_end(struct word_reader *reader, uint64_t block)
{
	unsigned int word = reader->input->word;
	uint64_t size, next, unused, unused_size;

	if (!word_read(reader, block, &size) || !size || size % ALIGNMENT ||
	    size > UINT64_MAX - block || !word_read(reader, block + word, &next) ||
	    next % ALIGNMENT || !word_read(reader, block + 2 * word + FLAGS_BYTES, &unused) ||
	    !word_read(reader, block + 3 * word + FLAGS_BYTES, &unused_size))
		return 0;
	if (unused <= block || unused > block + size || unused_size != block + size - unused)
		return 0;
	return block + size;
}

static bool may_hold_words(const struct scan_input *input, uint64_t address, uint64_t end)
{
	const struct scan_memory *memory = input->memory;
	struct scan_extent extent;

	return memory->next(memory->ctx, address, end, &extent) > 0 && extent.start == address &&
	       extent.readable;
}

int metadata_blocks_find(const struct scan_input *input, struct owned_extents *extents)
{
	struct word_reader *reader = calloc(1, sizeof(*reader));
	int err = 0;

	if (!reader)
		return -ENOMEM;
	reader->input = input;
	for (size_t i = 0; !err && i < input->range_count; i++) {
		const struct scan_range *range = &input->ranges[i];
		uint64_t at = (range->start + ALIGNMENT - 1) & ~(ALIGNMENT - 1);

		while (!err && at < range->end) {
			uint64_t end =
				may_hold_words(input, at, range->end) ? block_end(reader, at) : 0;

			if (end)
				err = vec_push(&extents->list, ((struct owned_extent){at, end}))
					      ? -ENOMEM
					      : 0;
			at = end ? end : at + ALIGNMENT;
		}
	}
	free(reader);
	return err;
}
