/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A wrapper that contains an address starts at most the length of the longest wrapper below it. As
 * functions are short, few have to be looked at.
 */
#include "model/process/wrappers.h"

#include <string.h>

/* Returns the number of wrappers that start below the address. */
static size_t below(const struct wrappers *wrappers, uint64_t address)
{
	size_t low = 0, high = wrappers->sorted.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wrappers->sorted.items[middle].start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the position of the first wrapper that may reach the address. */
static size_t first_near(const struct wrappers *wrappers, uint64_t address)
{
	return below(wrappers, address > wrappers->longest ? address - wrappers->longest : 0);
}

int wrappers_add(struct wrappers *wrappers, const struct event_wrapper *event)
{
	size_t position = below(wrappers, event->start);
	struct event_wrapper *at;

	for (; position < wrappers->sorted.count; position++) {
		const struct event_wrapper *known = &wrappers->sorted.items[position];

		if (known->start != event->start)
			break;
		if (known->end == event->end && known->api == event->api)
			return 0;
	}
	if (vec_reserve(&wrappers->sorted, wrappers->sorted.count + 1))
		return -ENOMEM;
	at = wrappers->sorted.items + position;
	memmove(at + 1, at, (wrappers->sorted.count - position) * sizeof(*at));
	*at = *event;
	wrappers->sorted.count++;
	if (event->end > event->start && event->end - event->start > wrappers->longest)
		wrappers->longest = event->end - event->start;
	return 0;
}

void wrappers_drop(struct wrappers *wrappers, uint64_t start, uint64_t end)
{
	size_t from = first_near(wrappers, start), kept = from, i;
	struct event_wrapper *items = wrappers->sorted.items;

	for (i = from; i < wrappers->sorted.count && items[i].start < end; i++)
		if (items[i].end <= start)
			items[kept++] = items[i];
	if (kept == i)
		return;
	memmove(items + kept, items + i, (wrappers->sorted.count - i) * sizeof(*items));
	wrappers->sorted.count -= i - kept;
}

enum api wrappers_find(const struct wrappers *wrappers, uint64_t caller)
{
	for (size_t i = first_near(wrappers, caller); i < wrappers->sorted.count; i++) {
		const struct event_wrapper *wrapper = &wrappers->sorted.items[i];

		if (wrapper->start >= caller)
			break;
		if (caller - 1 < wrapper->end)
			return wrapper->api;
	}
	return API_NONE;
}

int wrappers_copy(struct wrappers *copy, const struct wrappers *wrappers)
{
	copy->longest = wrappers->longest;
	return vec_copy(&copy->sorted, &wrappers->sorted);
}

void wrappers_free(struct wrappers *wrappers)
{
	vec_free(&wrappers->sorted);
}
