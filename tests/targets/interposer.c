/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libinterposer.so, to be preloaded: an allocator that forwards every call to the next one, like
 * profilers and fault injectors. It is compiled so that some calls become tail jumps.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

static void *(*next_malloc)(size_t size);
static void *(*next_calloc)(size_t count, size_t size);
static void *(*next_realloc)(void *old, size_t size);
static void (*next_free)(void *address);
static unsigned long calls;

__attribute__((constructor)) static void find_next(void)
{
	next_calloc = dlsym(RTLD_NEXT, "calloc");
	next_realloc = dlsym(RTLD_NEXT, "realloc");
	next_free = dlsym(RTLD_NEXT, "free");
	next_malloc = dlsym(RTLD_NEXT, "malloc");
}

void *malloc(size_t size)
{
	void *address;

	if (!next_malloc)
		find_next();
	address = next_malloc(size);
	calls++;
	return address;
}

void *calloc(size_t count, size_t size)
{
	return next_calloc ? next_calloc(count, size) : NULL;
}

void *realloc(void *old, size_t size)
{
	if (!next_realloc)
		find_next();
	return next_realloc(old, size);
}

void free(void *address)
{
	calls++;
	if (next_free)
		next_free(address);
}
