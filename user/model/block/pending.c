/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/block/pending.h"

static int pending_slot(struct pendings *pendings, uint32_t *ret_slot)
{
	if (pendings->spare) {
		*ret_slot = pendings->spare - 1;
		return 0;
	}
	if (vec_reserve(&pendings->items, pendings->items.count + 1))
		return -ENOMEM;
	*ret_slot = (uint32_t)pendings->items.count;
	pendings->items.items[pendings->items.count++] = (struct pending){.below = 0};
	pendings->spare = *ret_slot + 1;
	return 0;
}

int pendings_push(struct pendings *pendings, const struct pending *pending)
{
	uint32_t below = map64_get(&pendings->newest, pending->tid);
	struct pending *item;
	uint32_t slot;

	if (pending_slot(pendings, &slot) || map64_set(&pendings->newest, pending->tid, slot))
		return -ENOMEM;
	item = &pendings->items.items[slot];
	pendings->spare = item->below;
	*item = *pending;
	item->below = below;
	return 0;
}

bool pendings_pop(struct pendings *pendings, uint32_t tid, struct pending *ret_pending)
{
	uint32_t slot = map64_get(&pendings->newest, tid);
	struct pending *item;

	if (slot == MAP64_NONE)
		return false;
	item = &pendings->items.items[slot];
	*ret_pending = *item;
	map64_delete(&pendings->newest, tid);
	if (item->below != MAP64_NONE) /* reuses the entry just deleted, so it needs no memory */
		(void)map64_set(&pendings->newest, tid, item->below);
	*item = (struct pending){.below = pendings->spare};
	pendings->spare = slot + 1;
	return true;
}

bool pendings_pop_others(struct pendings *pendings, uint32_t tid, struct pending *ret_pending)
{
	const struct pending *item;
	uint32_t lowest = UINT32_MAX;

	vec_each (item, &pendings->items)
		if (item->api && item->tid != tid && item->tid < lowest)
			lowest = item->tid;
	return pendings_pop(pendings, lowest, ret_pending);
}

int pendings_rename(struct pendings *pendings, uint32_t tid)
{
	struct pending *item;
	uint32_t former = tid, newest;

	vec_each (item, &pendings->items)
		if (item->api) {
			former = item->tid;
			item->tid = tid;
		}
	newest = map64_get(&pendings->newest, former);
	if (former == tid || newest == MAP64_NONE)
		return 0;
	map64_delete(&pendings->newest, former);
	return map64_set(&pendings->newest, tid, newest);
}

int pendings_copy(struct pendings *ret_copy, const struct pendings *pendings)
{
	struct pendings copy = {.spare = pendings->spare};

	if (!pendings->newest.count) {
		*ret_copy = (struct pendings){.spare = 0};
		return 0;
	}
	if (vec_copy(&copy.items, &pendings->items) ||
	    map64_copy(&copy.newest, &pendings->newest)) {
		pendings_free(&copy);
		return -ENOMEM;
	}
	*ret_copy = copy;
	return 0;
}

bool pendings_has(const struct pendings *pendings, uint32_t tid, uint8_t api)
{
	uint32_t slot = map64_get(&pendings->newest, tid);

	while (slot != MAP64_NONE && pendings->items.items[slot].api != api)
		slot = pendings->items.items[slot].below;
	return slot != MAP64_NONE;
}

void pendings_free(struct pendings *pendings)
{
	vec_free(&pendings->items);
	map64_free(&pendings->newest);
	pendings->spare = 0;
}
