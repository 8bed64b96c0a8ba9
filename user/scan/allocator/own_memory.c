// SPDX-License-Identifier: GPL-2.0-or-later
#include "scan/allocator/own_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "scan/allocator/glibc_arena.h"
#include "scan/allocator/glibc_stack.h"
#include "scan/allocator/extents.h"
#include "scan/allocator/jemalloc.h"

static int (*const finders[])(const struct scan_input *input, struct owned_extents *extents) = {
	glibc_arenas_find,
	glibc_stacks_find,
	jemalloc_find,
};

static int find_all(const struct scan_input *input, struct owned_extents *extents)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(finders) / sizeof(finders[0]); i++)
		err = finders[i](input, extents);
	return err;
}

static int compare_extents(const void *a, const void *b)
{
	const struct owned_extent *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

struct ranges {
	VEC(struct scan_range) list;
};

/* Adds the parts of a range that are outside of the extents. */
static int cut_range(struct ranges *ranges, const struct scan_range *range,
		     const struct owned_extents *extents)
{
	struct scan_range left = *range;
	const struct owned_extent *extent;

	vec_each (extent, &extents->list) {
		struct scan_range before = left;

		if (extent->end <= left.start || extent->start >= left.end)
			continue;
		before.end = extent->start;
		if (before.start < before.end && vec_push(&ranges->list, before))
			return -ENOMEM;
		left.start = extent->end < left.end ? extent->end : left.end;
		left.heap = extent->arena; /* glibc's heap follows the arena that manages it */
	}
	if (left.start == left.end)
		return 0;
	return vec_push(&ranges->list, left) ? -ENOMEM : 0;
}

static int cut_ranges(struct ranges *ranges, const struct scan_input *input,
		      const struct owned_extents *extents)
{
	int err = 0;

	for (size_t i = 0; !err && i < input->range_count; i++)
		err = cut_range(ranges, &input->ranges[i], extents);
	return err;
}

int own_memory_exclude(struct scan_input *input, struct scan_range **ret_ranges)
{
	struct owned_extents extents = {0};
	struct ranges ranges = {0};
	int err = find_all(input, &extents);

	if (!err) {
		if (extents.list.count)
			qsort(extents.list.items, extents.list.count, sizeof(*extents.list.items),
			      compare_extents);
		err = cut_ranges(&ranges, input, &extents);
	}
	vec_free(&extents.list);
	if (err) {
		vec_free(&ranges.list);
		return err;
	}
	*ret_ranges = ranges.list.items;
	input->ranges = ranges.list.items;
	input->range_count = ranges.list.count;
	return 0;
}
