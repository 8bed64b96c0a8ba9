/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/process/sanity.h"

#include <errno.h>

#include "base/hash.h"

static const uint8_t kinds_by_new[API_COUNT] = {
	[API_NEW] = ALLOCATOR_KIND_NEW,
	[API_NEW_ARRAY] = ALLOCATOR_KIND_NEW_ARRAY,
};

enum api sanity_api(const struct event *event)
{
	uint32_t operator_api = EVENT_OPERATOR(event->flags);

	return operator_api && operator_api < API_COUNT &&
			       api_row((enum api)operator_api)->flags & COOKIE_FLAG_FREE
		       ? (enum api)operator_api
		       : event->api;
}

enum allocator_kind sanity_allocator_kind(const struct event *event, bool wrapped)
{
	uint32_t operator_api = EVENT_OPERATOR(event->flags);

	if (operator_api)
		return operator_api < API_COUNT ? (enum allocator_kind)kinds_by_new[operator_api]
						: ALLOCATOR_KIND_UNKNOWN;
	return wrapped || api_is_operator(event->api) ? ALLOCATOR_KIND_UNKNOWN
						      : ALLOCATOR_KIND_MALLOC;
}

/* Freed blocks. */

/* Finds a free entry, a new one, or one to overwrite. Returns its index or -ENOMEM. */
static int64_t freed_place(struct sanity *sanity)
{
	uint32_t index = sanity->turn;

	if (sanity->spare) {
		index = sanity->spare - 1;
		sanity->spare = sanity->freed.items[index].stack;
		return index;
	}
	if (sanity->freed.count < FREED_MAX) {
		if (vec_push(&sanity->freed, (struct freed){0}))
			return -ENOMEM;
		return (int64_t)sanity->freed.count - 1;
	}
	map64_delete(&sanity->by_address, sanity->freed.items[index].address);
	sanity->turn = (index + 1) % FREED_MAX;
	return index;
}

void sanity_handed_out(struct sanity *sanity, uint64_t address)
{
	uint32_t index = map64_get(&sanity->by_address, address);

	if (index == MAP64_NONE)
		return;
	sanity->freed.items[index] = (struct freed){.stack = sanity->spare};
	sanity->spare = index + 1;
	map64_delete(&sanity->by_address, address);
}

int sanity_remember(struct sanity *sanity, const struct freed *freed)
{
	int64_t index;

	sanity_handed_out(sanity, freed->address);
	index = freed_place(sanity);
	if (index < 0 || map64_set(&sanity->by_address, freed->address, (uint32_t)index))
		return -ENOMEM;
	sanity->freed.items[index] = *freed;
	return 0;
}

/*
 * Errors.
 */

static uint64_t hash_place(const struct sanity_error *error)
{
	const uint64_t words[] = {error->kind, error->api, error->site, error->freed_at,
				  error->freed_again_at};

	return hash_bytes(words, sizeof(words));
}

static bool is_same_place(const struct sanity_error *one, const struct sanity_error *other)
{
	return one->kind == other->kind && one->api == other->api && one->site == other->site &&
	       one->freed_at == other->freed_at && one->freed_again_at == other->freed_again_at;
}

int sanity_add_error(struct sanity *sanity, struct sanity_error error)
{
	uint64_t hash = hash_place(&error);
	uint32_t known = map64_get(&sanity->by_place, hash);

	if (known != MAP64_NONE && is_same_place(&sanity->errors.items[known], &error)) {
		sanity->errors.items[known].count++;
		return 0;
	}
	if (known != MAP64_NONE || sanity->errors.count >= SANITY_ERROR_MAX) {
		sanity->more++;
		return 0;
	}
	error.count = 1;
	if (vec_push(&sanity->errors, error))
		return -ENOMEM;
	return map64_set(&sanity->by_place, hash, (uint32_t)sanity->errors.count - 1);
}

int sanity_enter_freed(struct sanity *sanity, const struct freed *freed)
{
	if (vec_push(&sanity->freed, *freed))
		return -ENOMEM;
	if (!freed->address)
		return 0;
	return map64_set(&sanity->by_address, freed->address, (uint32_t)sanity->freed.count - 1);
}

int sanity_enter_error(struct sanity *sanity, const struct sanity_error *error)
{
	if (vec_push(&sanity->errors, *error))
		return -ENOMEM;
	return map64_set(&sanity->by_place, hash_place(error), (uint32_t)sanity->errors.count - 1);
}

int sanity_inherit(struct sanity *sanity, const struct sanity *parent)
{
	const struct freed *freed;

	vec_each (freed, &parent->freed)
		if (vec_push(&sanity->freed, *freed))
			return -ENOMEM;
	sanity->turn = parent->turn;
	sanity->spare = parent->spare;
	return map64_copy(&sanity->by_address, &parent->by_address);
}

void sanity_close(struct sanity *sanity)
{
	vec_free(&sanity->freed);
	map64_free(&sanity->by_address);
	sanity->spare = sanity->turn = 0;
}

void sanity_free(struct sanity *sanity)
{
	sanity_close(sanity);
	vec_free(&sanity->errors);
	map64_free(&sanity->by_place);
}
