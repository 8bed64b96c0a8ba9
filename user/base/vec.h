/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growable arrays. A vector is any struct declared with VEC(type). An all-zero vector is empty.
 *
 *	VEC(int) v = {0};
 *	if (vec_push(&v, 3)) return -ENOMEM;
 *	int *p;
 *	vec_each (p, &v) …
 *	vec_free(&v);
 */
#ifndef MTRACE_BASE_VEC_H
#define MTRACE_BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define VEC(type)                \
	struct {                 \
		type *items;     \
		size_t count;    \
		size_t capacity; \
	}

/* Makes room for `want` items in total. Returns 0 or -ENOMEM. */
int vec_reserve_bytes(void **items, size_t *capacity, size_t want, size_t item_size);

#define vec_reserve(v, want) \
	vec_reserve_bytes((void **)&(v)->items, &(v)->capacity, (want), sizeof(*(v)->items))

/* Appends a copy of the item. Returns 0 or -ENOMEM. */
#define vec_push(v, ...) \
	(vec_reserve((v), (v)->count + 1) ? -ENOMEM : ((v)->items[(v)->count++] = (__VA_ARGS__), 0))

/* Appends copies of n items of the same type. Returns 0 or -ENOMEM. */
#define vec_append(v, from, n)                                                         \
	(vec_reserve((v), (v)->count + (n))                                            \
		 ? -ENOMEM                                                             \
		 : ((v)->count = vec_append_bytes((v)->items, (v)->count, (from), (n), \
						  sizeof(*(v)->items)),                \
		    0))
size_t vec_append_bytes(void *items, size_t count, const void *from, size_t more, size_t item_size);

/* Makes an empty vector a copy of another. Returns 0 or -ENOMEM. */
#define vec_copy(v, from) vec_append((v), (from)->items, (from)->count)

#define vec_free(v)                             \
	do {                                    \
		free((v)->items);               \
		(v)->items = NULL;              \
		(v)->count = (v)->capacity = 0; \
	} while (0)

/* Checks the count first, because items may be NULL, and C does not allow adding even 0 to NULL. */
#define vec_each(p, v) for ((p) = (v)->items; (v)->count && (p) < (v)->items + (v)->count; (p)++)

#endif
