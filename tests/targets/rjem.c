/* SPDX-License-Identifier: GPL-2.0-or-later */
/* librjem.a: jemalloc's functions by the names that its Rust crate gives them, on a memory of
 * their own. */
#include <stddef.h>
#include <string.h>

static char arena[64 << 20] __attribute__((aligned(16)));
static size_t arena_used;

void *_rjem_malloc(size_t size);
void *_rjem_calloc(size_t count, size_t size);
void *_rjem_realloc(void *old, size_t size);
void _rjem_free(void *address);
void _rjem_sdallocx(void *address, size_t size, int flags);

__attribute__((noinline)) void *_rjem_malloc(size_t size)
{
	size_t rounded = (size + 15) & ~(size_t)15;
	size_t place = __atomic_fetch_add(&arena_used, rounded, __ATOMIC_RELAXED);

	return place + rounded <= sizeof(arena) ? arena + place : NULL;
}

void *_rjem_calloc(size_t count, size_t size)
{
	return _rjem_malloc(count * size);
}

void *_rjem_realloc(void *old, size_t size)
{
	void *address = _rjem_malloc(size);

	return address && old ? memmove(address, old, size) : address;
}

__attribute__((noinline)) void _rjem_free(void *address)
{
	__asm__ volatile("" : : "r"(address) : "memory");
}

__attribute__((noinline)) void _rjem_sdallocx(void *address, size_t size, int flags)
{
	__asm__ volatile("" : : "r"(address), "r"(size), "r"(flags) : "memory");
}
