/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prefixed: a program that contains an allocator whose names have a PREFIX, and also uses libc's.
 * It has static functions with the names of allocation functions, which must not be traced.
 */
#include "truth.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define NAME(name)  JOIN(PREFIX, name)

static char arena[1 << 20] __attribute__((aligned(16)));
static size_t arena_used;

__attribute__((noinline)) void *NAME(malloc)(size_t size);
__attribute__((noinline)) void *NAME(mallocx)(size_t size, int flags);
__attribute__((noinline)) void *NAME(calloc)(size_t count, size_t size);
__attribute__((noinline)) void *NAME(realloc)(void *old, size_t size);
__attribute__((noinline)) void NAME(free)(void *address);
__attribute__((noinline)) void NAME(sdallocx)(void *address, size_t size, int flags);

void *NAME(malloc)(size_t size)
{
	size_t place = arena_used;

	if (size > sizeof(arena) - arena_used - 16)
		return NULL;
	arena_used += (size + 15) & ~(size_t)15;
	return arena + place;
}

void *NAME(mallocx)(size_t size, int flags)
{
	return flags ? NULL : NAME(malloc)(size);
}

void *NAME(calloc)(size_t count, size_t size)
{
	return NAME(malloc)(count * size);
}

void *NAME(realloc)(void *old, size_t size)
{
	void *address = NAME(malloc)(size);

	NAME(free)(old);
	return address;
}

void NAME(free)(void *address)
{
	__asm__ volatile("" : : "r"(address) : "memory");
}

void NAME(sdallocx)(void *address, size_t size, int flags)
{
	__asm__ volatile("" : : "r"(size), "r"(flags));
	NAME(free)(address);
}

NOINLINE static void *pvalloc(size_t size)
{
	__asm__ volatile("" : "+r"(size));
	return size ? arena : NULL;
}

NOINLINE static struct block t_malloc(size_t size)
{
	BOOKED(malloc, size, NAME(malloc)(size));
}

NOINLINE static struct block t_mallocx(size_t size)
{
	BOOKED(malloc, size, NAME(mallocx)(size, 0));
}

NOINLINE static struct block t_calloc(size_t count, size_t size)
{
	BOOKED(calloc, count * size, NAME(calloc)(count, size));
}

NOINLINE static struct block t_realloc(struct block old, size_t size)
{
	SITE("realloc");
	void *address = NAME(realloc)(old.address, size);

	truth_freed(old);
	return truth_allocated(&site, size, address);
}

NOINLINE static struct block t_libc(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

static void give_back(struct block block)
{
	truth_freed(block);
	NAME(free)(block.address);
}

static void give_back_sized(struct block block)
{
	truth_freed(block);
	NAME(sdallocx)(block.address, block.size, 0);
}

int main(void)
{
	int i;

	for (i = 0; i < 50; i++) {
		give_back(t_malloc(100));
		t_malloc(10);
		give_back_sized(t_mallocx(200));
		t_mallocx(20);
		give_back(t_realloc(t_calloc(3, 10), 40));
		t_free(t_libc(1000));
		t_libc(50);
		if (!pvalloc(1))
			return 1;
	}
	give_back(t_malloc(truth_opaque(1 << 30)));
	truth_tell(STDOUT_FILENO, "");
	return 0;
}
