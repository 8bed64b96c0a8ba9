// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/protocol/backlog.h"

#include <string.h>

#define PIECE_SIZE (64u << 10)

/* The stream offset at which the first piece begins. */
static uint64_t origin(const struct backlog *backlog)
{
	return backlog->begin - backlog->begin % PIECE_SIZE;
}

void backlog_free(struct backlog *backlog)
{
	for (size_t i = 0; i < backlog->pieces.count; i++)
		free(backlog->pieces.items[i]);
	vec_free(&backlog->pieces);
}

/* Grows to the wanted number of pieces. On failure, the number does not change. */
static int make_room(struct backlog *backlog, size_t wanted)
{
	size_t before = backlog->pieces.count;

	while (backlog->pieces.count < wanted) {
		uint8_t *piece = malloc(PIECE_SIZE);

		if (piece && !vec_push(&backlog->pieces, piece))
			continue;
		free(piece);
		while (backlog->pieces.count > before)
			free(backlog->pieces.items[--backlog->pieces.count]);
		return -ENOMEM;
	}
	return 0;
}

int backlog_add(struct backlog *backlog, const void *bytes, size_t size)
{
	uint64_t last = backlog->end + size - origin(backlog);
	const uint8_t *at = bytes;

	if (make_room(backlog, (size_t)((last + PIECE_SIZE - 1) / PIECE_SIZE)))
		return -ENOMEM;
	while (size) {
		size_t place = backlog->end % PIECE_SIZE, part = PIECE_SIZE - place;
		uint64_t piece = (backlog->end - origin(backlog)) / PIECE_SIZE;

		part = part < size ? part : size;
		memcpy(backlog->pieces.items[piece] + place, at, part);
		backlog->end += part;
		at += part;
		size -= part;
	}
	return 0;
}

size_t backlog_at(const struct backlog *backlog, uint64_t offset, const uint8_t **ret_bytes)
{
	size_t place = offset % PIECE_SIZE, size = PIECE_SIZE - place;

	if (offset >= backlog->end)
		return 0;
	*ret_bytes = backlog->pieces.items[(offset - origin(backlog)) / PIECE_SIZE] + place;
	return backlog->end - offset < size ? (size_t)(backlog->end - offset) : size;
}

void backlog_discard(struct backlog *backlog, uint64_t offset)
{
	uint64_t before = origin(backlog);
	size_t gone;

	if (offset <= backlog->begin || offset > backlog->end)
		return;
	backlog->begin = offset;
	gone = (size_t)((origin(backlog) - before) / PIECE_SIZE);
	if (gone > backlog->pieces.count)
		gone = backlog->pieces.count;
	if (!gone)
		return;
	for (size_t i = 0; i < gone; i++)
		free(backlog->pieces.items[i]);
	backlog->pieces.count -= gone;
	memmove(backlog->pieces.items, backlog->pieces.items + gone,
		backlog->pieces.count * sizeof(*backlog->pieces.items));
}
