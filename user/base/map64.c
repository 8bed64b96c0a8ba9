/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/map64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAP64_FIRST_CAPACITY 16

static size_t map64_home(const struct map64 *map, uint64_t key)
{
	return hash_u64(key) & map->mask;
}

/* Returns the slot that holds the key, or the empty slot where it belongs. The map must have at
 * least one empty slot. */
static size_t map64_slot(const struct map64 *map, uint64_t key)
{
	size_t slot = map64_home(map, key);

	while (map->entries[slot].value != MAP64_NONE && map->entries[slot].key != key)
		slot = (slot + 1) & map->mask;
	return slot;
}

static int map64_resize(struct map64 *map, size_t capacity)
{
	struct map64 grown = {.mask = capacity - 1, .count = map->count};

	grown.entries = malloc(capacity * sizeof(*grown.entries));
	if (!grown.entries)
		return -ENOMEM;
	for (size_t i = 0; i < capacity; i++)
		grown.entries[i].value = MAP64_NONE;
	for (size_t i = 0; map->entries && i <= map->mask; i++) {
		struct map64_entry *entry = &map->entries[i];

		if (entry->value != MAP64_NONE)
			grown.entries[map64_slot(&grown, entry->key)] = *entry;
	}
	free(map->entries);
	*map = grown;
	return 0;
}

uint32_t map64_get(const struct map64 *map, uint64_t key)
{
	return map->entries ? map->entries[map64_slot(map, key)].value : MAP64_NONE;
}

int map64_set(struct map64 *map, uint64_t key, uint32_t value)
{
	size_t slot;

	if (!map->entries || (map->count + 1) * 4 > (map->mask + 1) * 3) {
		size_t capacity = map->entries ? (map->mask + 1) * 2 : MAP64_FIRST_CAPACITY;

		if (map64_resize(map, capacity))
			return -ENOMEM;
	}
	slot = map64_slot(map, key);
	map->count += map->entries[slot].value == MAP64_NONE;
	map->entries[slot] = (struct map64_entry){key, value};
	return 0;
}

/* Closes the gap: moves back each following entry that may be stored there (Knuth 6.4, algorithm
 * R). */
void map64_delete(struct map64 *map, uint64_t key)
{
	size_t gap, next;

	if (!map->entries)
		return;
	gap = map64_slot(map, key);
	if (map->entries[gap].value == MAP64_NONE)
		return;
	map->count--;
	for (next = (gap + 1) & map->mask; map->entries[next].value != MAP64_NONE;
	     next = (next + 1) & map->mask) {
		size_t home = map64_home(map, map->entries[next].key);

		if (((next - home) & map->mask) < ((next - gap) & map->mask))
			continue;
		map->entries[gap] = map->entries[next];
		gap = next;
	}
	map->entries[gap].value = MAP64_NONE;
}

void map64_free(struct map64 *map)
{
	free(map->entries);
	*map = (struct map64){0};
}

int map64_copy(struct map64 *ret_copy, const struct map64 *map)
{
	size_t size = (map->mask + 1) * sizeof(*map->entries);
	struct map64 copy = *map;

	if (map->entries) {
		copy.entries = malloc(size);
		if (!copy.entries)
			return -ENOMEM;
		memcpy(copy.entries, map->entries, size);
	}
	*ret_copy = copy;
	return 0;
}
