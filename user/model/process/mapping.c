/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A return address belongs to the call before it, so lookups use the preceding byte: a call that
 * never returns may be the last instruction of its mapping.
 */
#include "model/process/mapping.h"

#include <errno.h>
#include <string.h>

static struct mapping *present_at(const struct mappings *mappings, size_t position)
{
	return &mappings->history.items[mappings->present.items[position]];
}

/* Returns the position of the first present mapping that ends after the address. */
static size_t present_find(const struct mappings *mappings, uint64_t address)
{
	size_t low = 0, high = mappings->present.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (present_at(mappings, middle)->end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static const struct mapping *present_covering(const struct mappings *mappings, uint64_t address)
{
	size_t position = present_find(mappings, address);

	if (position == mappings->present.count || present_at(mappings, position)->start > address)
		return NULL;
	return present_at(mappings, position);
}

static bool is_known(const struct mappings *mappings, const struct event_mapping *event)
{
	const struct mapping *old = present_covering(mappings, event->start);

	return old && old->start == event->start && old->end == event->end &&
	       old->offset == event->offset && old->module == event->module &&
	       old->flags == event->flags;
}

/* Adds [start, end) of a mapping to the present ones at a position. Memory must be reserved. */
static void present_insert(struct mappings *mappings, size_t position, struct mapping mapping,
			   uint64_t start, uint64_t end)
{
	uint32_t *at = mappings->present.items + position;

	mapping.offset += start - mapping.start;
	mapping.start = start;
	mapping.end = end;
	mapping.from = mappings->clock;
	mapping.until = MAPPING_PRESENT;
	memmove(at + 1, at, (mappings->present.count - position) * sizeof(*at));
	*at = (uint32_t)mappings->history.count;
	mappings->present.count++;
	mappings->history.items[mappings->history.count++] = mapping;
}

/* Ends the mapping at a position, except its parts outside of [start, end), which become new
 * mappings. */
static void present_replace(struct mappings *mappings, size_t position, uint64_t start,
			    uint64_t end)
{
	struct mapping *old = present_at(mappings, position);
	struct mapping rest = *old;
	uint32_t *at = mappings->present.items + position;

	old->until = mappings->clock;
	mappings->present.count--;
	memmove(at, at + 1, (mappings->present.count - position) * sizeof(*at));
	if (rest.end > end)
		present_insert(mappings, position, rest, end, rest.end);
	if (rest.start < start)
		present_insert(mappings, position, rest, rest.start, start);
}

/* Either one mapping leaves two parts, or two leave one each; plus the new mapping. */
#define ENTRIES_PER_CHANGE 3

int mappings_add(struct mappings *mappings, const struct event_mapping *event)
{
	struct mapping mapping = {.start = event->start,
				  .offset = event->offset,
				  .module = event->module,
				  .flags = event->flags};
	size_t position;

	if (event->start >= event->end || is_known(mappings, event))
		return 0;
	if (vec_reserve(&mappings->history, mappings->history.count + ENTRIES_PER_CHANGE) ||
	    vec_reserve(&mappings->present, mappings->present.count + ENTRIES_PER_CHANGE))
		return -ENOMEM;
	mappings->clock++;
	wrappers_drop(&mappings->wrappers, event->start, event->end);
	for (;;) {
		position = present_find(mappings, event->start);
		if (position == mappings->present.count ||
		    present_at(mappings, position)->start >= event->end)
			break;
		present_replace(mappings, position, event->start, event->end);
	}
	present_insert(mappings, position, mapping, event->start, event->end);
	return 0;
}

int mappings_add_wrapper(struct mappings *mappings, const struct event_wrapper *event)
{
	return wrappers_add(&mappings->wrappers, event);
}

bool mappings_in_allocator(const struct mappings *mappings, uint64_t caller)
{
	const struct mapping *mapping = present_covering(mappings, caller - 1);

	return mapping && mapping->flags & MAPPING_FLAG_ALLOCATOR;
}

enum api mappings_wrapper(const struct mappings *mappings, uint64_t caller)
{
	return wrappers_find(&mappings->wrappers, caller);
}

int mappings_copy(struct mappings *ret_copy, const struct mappings *mappings)
{
	struct mappings copy = {.clock = mappings->clock};

	if (vec_copy(&copy.history, &mappings->history) ||
	    vec_copy(&copy.present, &mappings->present) ||
	    wrappers_copy(&copy.wrappers, &mappings->wrappers)) {
		mappings_free(&copy);
		return -ENOMEM;
	}
	*ret_copy = copy;
	return 0;
}

void mappings_free(struct mappings *mappings)
{
	vec_free(&mappings->history);
	vec_free(&mappings->present);
	wrappers_free(&mappings->wrappers);
}

static int compare_starts(const void *a, const void *b, void *ctx)
{
	const struct mapping *history = ctx;
	const uint32_t *left = a, *right = b;
	uint64_t left_start = history[*left].start, right_start = history[*right].start;

	return left_start == right_start ? (*left > *right) - (*left < *right)
					 : (left_start > right_start) - (left_start < right_start);
}

int mapping_index_new(struct mapping_index *index, const struct mappings *mappings)
{
	size_t count = mappings->history.count;
	uint64_t reach = 0;

	*index = (struct mapping_index){.mappings = mappings};
	if (!count)
		return 0;
	index->by_start = malloc(count * sizeof(*index->by_start));
	index->reach = malloc(count * sizeof(*index->reach));
	if (!index->by_start || !index->reach) {
		mapping_index_free(index);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		index->by_start[i] = (uint32_t)i;
	qsort_r(index->by_start, count, sizeof(*index->by_start), compare_starts,
		mappings->history.items);
	for (size_t i = 0; i < count; i++) {
		const struct mapping *mapping = &mappings->history.items[index->by_start[i]];

		reach = mapping->end > reach ? mapping->end : reach;
		index->reach[i] = reach;
	}
	return 0;
}

/* Returns the number of mappings in the index that start at or below the address. */
static size_t index_upper_bound(const struct mapping_index *index, uint64_t address)
{
	size_t low = 0, high = index->mappings->history.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->mappings->history.items[index->by_start[middle]].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct mapping *mapping_index_find(const struct mapping_index *index, uint64_t address,
					 uint32_t clock)
{
	const struct mapping *later = NULL;
	size_t i = index_upper_bound(index, --address);

	/* Searches backwards, until no earlier mapping reaches the address. */
	while (i-- && index->reach[i] > address) {
		const struct mapping *mapping = &index->mappings->history.items[index->by_start[i]];

		if (mapping->end <= address || mapping->until <= clock)
			continue;
		if (mapping->from <= clock)
			return mapping;
		if (!later || mapping->from < later->from)
			later = mapping;
	}
	return later;
}

void mapping_index_free(struct mapping_index *index)
{
	free(index->by_start);
	free(index->reach);
	*index = (struct mapping_index){0};
}
