/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

int vec_reserve_bytes(void **items, size_t *capacity, size_t want, size_t item_size)
{
	size_t grown = *capacity ? *capacity : 4;
	void *moved;

	if (want <= *capacity)
		return 0;
	if (want > SIZE_MAX / 2 / item_size)
		return -ENOMEM;
	while (grown < want)
		grown += grown / 2 + 1;
	moved = realloc(*items, grown * item_size);
	if (!moved)
		return -ENOMEM;
	*items = moved;
	*capacity = grown;
	return 0;
}

size_t vec_append_bytes(void *items, size_t count, const void *from, size_t more, size_t item_size)
{
	if (more)
		memcpy((char *)items + count * item_size, from, more * item_size);
	return count + more;
}
