// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/protocol/spill.h"

#include <string.h>

#define PIECE_SIZE (64u << 10)

/* Offset of the first byte of the first piece. */
static uint64_t origin(const struct spill *spill)
{
	return spill->begin - spill->begin % PIECE_SIZE;
}

void spill_free(struct spill *spill)
{
	for (size_t i = 0; i < spill->pieces.count; i++)
		free(spill->pieces.items[i]);
	vec_free(&spill->pieces);
}

/* Grows to the wanted number of pieces. On failure, the number does not change. */
static int make_room(struct spill *spill, size_t wanted)
{
	size_t before = spill->pieces.count;

	while (spill->pieces.count < wanted) {
		uint8_t *piece = malloc(PIECE_SIZE);

		if (piece && !vec_push(&spill->pieces, piece))
			continue;
		free(piece);
		while (spill->pieces.count > before)
			free(spill->pieces.items[--spill->pieces.count]);
		return -ENOMEM;
	}
	return 0;
}

int spill_add(struct spill *spill, const void *bytes, size_t size)
{
	uint64_t last = spill->end + size - origin(spill);
	const uint8_t *at = bytes;

	if (make_room(spill, (size_t)((last + PIECE_SIZE - 1) / PIECE_SIZE)))
		return -ENOMEM;
	while (size) {
		size_t place = spill->end % PIECE_SIZE, part = PIECE_SIZE - place;
		uint64_t piece = (spill->end - origin(spill)) / PIECE_SIZE;

		part = part < size ? part : size;
		memcpy(spill->pieces.items[piece] + place, at, part);
		spill->end += part;
		at += part;
		size -= part;
	}
	return 0;
}

size_t spill_at(const struct spill *spill, uint64_t offset, const uint8_t **ret_bytes)
{
	size_t place = offset % PIECE_SIZE, size = PIECE_SIZE - place;

	if (offset >= spill->end)
		return 0;
	*ret_bytes = spill->pieces.items[(offset - origin(spill)) / PIECE_SIZE] + place;
	return spill->end - offset < size ? (size_t)(spill->end - offset) : size;
}

void spill_let_go(struct spill *spill, uint64_t offset)
{
	uint64_t before = origin(spill);
	size_t gone;

	if (offset <= spill->begin || offset > spill->end)
		return;
	spill->begin = offset;
	gone = (size_t)((origin(spill) - before) / PIECE_SIZE);
	if (gone > spill->pieces.count)
		gone = spill->pieces.count;
	if (!gone)
		return;
	for (size_t i = 0; i < gone; i++)
		free(spill->pieces.items[i]);
	spill->pieces.count -= gone;
	memmove(spill->pieces.items, spill->pieces.items + gone,
		spill->pieces.count * sizeof(*spill->pieces.items));
}
