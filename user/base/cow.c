/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cow.h"

#include <stdlib.h>
#include <string.h>

#define MAP_FIRST COW_PIECE_ITEMS

struct map_entry {
	uint64_t key;
	uint32_t value; /* stored as value + 1; 0 marks an empty entry */
};

static size_t piece_bytes(size_t item_size)
{
	return sizeof(struct cow_piece) + COW_PIECE_ITEMS * item_size;
}

static struct cow_piece *piece_new(size_t item_size)
{
	struct cow_piece *piece = calloc(1, piece_bytes(item_size));

	if (piece)
		piece->owners = 1;
	return piece;
}

static void piece_drop(struct cow_piece *piece)
{
	if (!--piece->owners)
		free(piece);
}

void *cow_write(struct cow_array *array, size_t index, size_t item_size)
{
	struct cow_piece **piece = &array->pieces.items[index >> COW_PIECE_BITS], *own;

	if ((*piece)->owners > 1) {
		own = malloc(piece_bytes(item_size));
		if (!own)
			return NULL;
		memcpy(own, *piece, piece_bytes(item_size));
		own->owners = 1;
		piece_drop(*piece);
		*piece = own;
	}
	return (*piece)->items + (index & (COW_PIECE_ITEMS - 1)) * item_size;
}

int cow_grow(struct cow_array *array, size_t count, size_t item_size)
{
	size_t want = (array->count + count + COW_PIECE_ITEMS - 1) >> COW_PIECE_BITS;

	if (vec_reserve(&array->pieces, want))
		return -ENOMEM;
	while (array->pieces.count < want) {
		struct cow_piece *piece = piece_new(item_size);

		if (!piece)
			return -ENOMEM;
		array->pieces.items[array->pieces.count++] = piece;
	}
	array->count += count;
	return 0;
}

int cow_copy(struct cow_array *ret_copy, const struct cow_array *array)
{
	struct cow_array copy = {.count = array->count};
	size_t count = array->pieces.count;

	*ret_copy = (struct cow_array){.count = 0};
	if (vec_reserve(&copy.pieces, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		copy.pieces.items[i] = array->pieces.items[i];
		copy.pieces.items[i]->owners++;
	}
	copy.pieces.count = count;
	*ret_copy = copy;
	return 0;
}

size_t cow_own_bytes(const struct cow_array *array, size_t item_size)
{
	struct cow_piece *const *piece;
	size_t bytes = 0;

	vec_each (piece, &array->pieces)
		bytes += piece_bytes(item_size) / (*piece)->owners;
	return bytes;
}

void cow_free(struct cow_array *array)
{
	struct cow_piece **piece;

	vec_each (piece, &array->pieces)
		piece_drop(*piece);
	vec_free(&array->pieces);
	array->count = 0;
}

static const struct map_entry *entry_at(const struct cow_map *map, size_t slot)
{
	return cow_read(&map->entries, slot, sizeof(struct map_entry));
}

/* Returns the slot that holds the key, or the empty slot where it belongs. The map must have at
 * least one empty slot. */
static size_t map_slot(const struct cow_map *map, uint64_t key)
{
	size_t mask = map->entries.count - 1, slot = hash_u64(key) & mask;
	const struct map_entry *entry;

	for (;; slot = (slot + 1) & mask) {
		entry = entry_at(map, slot);
		if (!entry->value || entry->key == key)
			return slot;
	}
}

static int map_put(struct cow_map *map, struct map_entry put)
{
	size_t slot = map_slot(map, put.key);
	struct map_entry *entry = cow_write(&map->entries, slot, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	map->count += !entry->value;
	*entry = put;
	return 0;
}

static int map_double(struct cow_map *map)
{
	size_t count = map->entries.count;
	struct cow_map grown = {.count = 0};
	int err = cow_grow(&grown.entries, count ? count * 2 : MAP_FIRST, sizeof(struct map_entry));

	for (size_t i = 0; i < count && !err; i++)
		if (entry_at(map, i)->value)
			err = map_put(&grown, *entry_at(map, i));
	cow_map_free(err ? &grown : map);
	if (!err)
		*map = grown;
	return err;
}

uint32_t cow_map_get(const struct cow_map *map, uint64_t key)
{
	const struct map_entry *entry;

	if (!map->count)
		return MAP64_NONE;
	entry = entry_at(map, map_slot(map, key));
	return entry->value ? entry->value - 1 : MAP64_NONE;
}

int cow_map_set(struct cow_map *map, uint64_t key, uint32_t value)
{
	if ((map->count + 1) * 4 > map->entries.count * 3 && map_double(map))
		return -ENOMEM;
	return map_put(map, (struct map_entry){key, value + 1});
}

int cow_map_copy(struct cow_map *ret_copy, const struct cow_map *map)
{
	ret_copy->count = map->count;
	return cow_copy(&ret_copy->entries, &map->entries);
}

void cow_map_visit(const struct cow_map *map,
		   void (*visit)(void *ctx, uint64_t key, uint32_t value), void *ctx)
{
	for (size_t i = 0; i < map->entries.count; i++) {
		const struct map_entry *entry = entry_at(map, i);

		if (entry->value)
			visit(ctx, entry->key, entry->value - 1);
	}
}

void cow_map_free(struct cow_map *map)
{
	cow_free(&map->entries);
	map->count = 0;
}
