// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operators that a program has replaced in valid ways:
 *
 *	sanity_replaced
 *
 * Small objects come from a pool. operator new allocates its chunks, which are freed at the end;
 * the first object of a chunk has the chunk's address. Larger objects have a header before them.
 */
#include "truth.h"

#include <new>
#include <string>

/* Sized delete is the library's, and calls the replaced operator. */
#pragma GCC diagnostic ignored "-Wsized-deallocation"

#define SMALL  64
#define CHUNK  4096
#define HEADER 16

static char *chunks[1024];
static size_t chunk_count, used = CHUNK;

static bool in_pool(const char *memory)
{
	for (size_t i = 0; i < chunk_count; i++)
		if (memory >= chunks[i] && memory < chunks[i] + CHUNK)
			return true;
	return false;
}

void *operator new(size_t size)
{
	char *memory;

	if (size > SMALL) {
		memory = (char *)malloc(size + HEADER);
		if (!memory)
			throw std::bad_alloc();
		return memory + HEADER;
	}
	if (used + SMALL > CHUNK) {
		if (chunk_count == sizeof(chunks) / sizeof(chunks[0]))
			abort();
		chunks[chunk_count++] = (char *)malloc(CHUNK);
		used = 0;
	}
	memory = chunks[chunk_count - 1] + used;
	used += SMALL;
	return memory;
}

void operator delete(void *memory) noexcept
{
	if (memory && !in_pool((char *)memory))
		free((char *)memory - HEADER);
}

NOINLINE static void use(void)
{
	for (int i = 0; i < 1000; i++) {
		delete new int;
		delete[] new int[4];
		delete[] new char[100];
		delete new std::string(200, 'x');
		delete[] new std::string[3];
	}
}

int main(void)
{
	for (int i = 0; i < 16; i++)
		delete new int;
	use();
	for (size_t i = 0; i < chunk_count; i++)
		free(chunks[i]);
	truth_write(1, "{\"errors\":0}\n", 13);
	return 0;
}
