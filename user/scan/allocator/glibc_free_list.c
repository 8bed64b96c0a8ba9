// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A free chunk ("struct malloc_chunk", glibc's malloc/malloc.c) holds the size of the one before it
 * if that is free, its own size, and links to the next and the previous chunk in its list; a large
 * one also links to the next larger and the next smaller one. All lists are doubly linked, so a
 * word is such a link if the chunk that it points to links back to the word's own chunk. malloc
 * itself checks the same before it unlinks a chunk.
 */
#include "scan/allocator/glibc_free_list.h"

#define LINKS 4

bool glibc_free_list_links(struct word_reader *reader, uint64_t place, uint64_t chunk)
{
	static const unsigned int partner[LINKS] = {1, 0, 3, 2};
	const unsigned int word = reader->input->word, first = 2;
	uint64_t back;

	for (unsigned int link = 0; link < LINKS; link++)
		if (word_read(reader, chunk + (first + partner[link]) * word, &back) &&
		    back + (first + link) * word == place)
			return true;
	return false;
}
