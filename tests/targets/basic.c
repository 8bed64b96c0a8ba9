/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every function of the malloc family, in every way it can succeed and fail. */
#include "truth.h"

#include <malloc.h>

NOINLINE static struct block t_malloc(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_calloc(size_t count, size_t size)
{
	BOOKED(calloc, count * size, calloc(count, size));
}

NOINLINE static struct block t_posix_memalign(size_t alignment, size_t size)
{
	SITE("posix_memalign");
	void *address = NULL;
	int status = posix_memalign(&address, alignment, size);

	return truth_allocated(&site, size, status ? NULL : address);
}

/* The out-parameter already holds a live block's address: a failure must not book it again. */
NOINLINE static struct block t_posix_memalign_in_place(struct block old)
{
	SITE("posix_memalign");
	void *address = old.address;
	int status = posix_memalign(&address, truth_opaque(24), 64);

	return truth_allocated(&site, 64, status ? NULL : address);
}

NOINLINE static struct block t_aligned_alloc(size_t alignment, size_t size)
{
	BOOKED(aligned_alloc, size, aligned_alloc(alignment, size));
}

NOINLINE static struct block t_memalign(size_t alignment, size_t size)
{
	BOOKED(aligned_alloc, size, memalign(alignment, size));
}

#ifdef __GLIBC__
NOINLINE static struct block t_valloc(size_t size)
{
	BOOKED(valloc, size, valloc(size));
}

NOINLINE static struct block t_pvalloc(size_t size)
{
	BOOKED(pvalloc, size, pvalloc(size));
}
#endif

/* A failed realloc leaves the old block as it is; realloc(p, 0) of glibc frees and returns NULL. */
static struct block replaced(struct site *site, struct block old, size_t size, void *address)
{
	if (address) {
		truth_freed(old);
		return truth_allocated(site, size, address);
	}
	if (size == 0 && old.address) {
		truth_freed(old);
		return (struct block){0};
	}
	truth_allocated(site, size, NULL);
	return old;
}

NOINLINE static struct block t_realloc(struct block old, size_t size)
{
	SITE("realloc");
	void *address = realloc(old.address, size);

	return replaced(&site, old, size, address);
}

NOINLINE static struct block t_reallocarray(struct block old, size_t count, size_t size)
{
	SITE("reallocarray");
	void *address = reallocarray(old.address, count, size);

	return replaced(&site, old, count * size, address);
}

static void simple_calls(void)
{
	struct block kept[10];
	int i;

	for (i = 0; i < 10; i++)
		kept[i] = t_malloc((size_t)(i + 1) * 10);
	for (i = 0; i < 7; i++)
		t_free(kept[i]);
	for (i = 0; i < 5; i++)
		kept[i] = t_calloc((size_t)i + 1, 100);
	for (i = 0; i < 3; i++)
		t_free(kept[i]);
	t_free(t_malloc(0));
	t_malloc(1 << 20); /* the allocator maps this one: an allocation, and no event of mmap */
	t_free(t_malloc(4 << 20));
	t_free((struct block){0});
}

static void aligned_calls(void)
{
	t_free(t_posix_memalign(64, 1000));
	t_posix_memalign(4096, 123);
	t_free(t_posix_memalign(truth_opaque(24), 64));
	t_free(t_posix_memalign_in_place(t_malloc(77)));
	t_free(t_aligned_alloc(64, 640));
	t_aligned_alloc(64, 128);
	t_free(t_memalign(32, 320));
	t_memalign(32, 33);
#ifdef __GLIBC__
	t_free(t_valloc(500));
	t_valloc(501);
	t_free(t_pvalloc(600));
	t_pvalloc(601);
#endif
}

static void reallocations(void)
{
	struct block block = t_realloc((struct block){0}, 100);
	int i;

	for (i = 2; i < 20; i++)
		block = t_realloc(block, (size_t)i * 1000);
	block = t_realloc(block, 10);
	block = t_realloc(block, truth_opaque(PTRDIFF_MAX));
	block = t_realloc(block, 0);
	t_free(block);
	t_realloc(t_malloc(8), 2 << 20);
	block = t_reallocarray((struct block){0}, 10, 10);
	block = t_reallocarray(block, 1000, 100);
	block = t_reallocarray(block, truth_opaque(SIZE_MAX / 4), 8);
	block = t_reallocarray(block, truth_opaque(PTRDIFF_MAX), 1);
	t_free(block);
	t_reallocarray((struct block){0}, 3, 7);
}

static void failures(void)
{
	int i;

	for (i = 0; i < 3; i++)
		t_free(t_malloc(truth_opaque(PTRDIFF_MAX)));
	t_free(t_malloc(truth_opaque(SIZE_MAX)));
	t_free(t_calloc(truth_opaque(SIZE_MAX / 2), 4));
	t_free(t_calloc(1, truth_opaque(PTRDIFF_MAX)));
	t_free(t_aligned_alloc(64, truth_opaque(PTRDIFF_MAX)));
	t_free(t_realloc((struct block){0}, truth_opaque(PTRDIFF_MAX)));
}

int main(void)
{
	simple_calls();
	aligned_calls();
	reallocations();
	failures();
	truth_tell(STDOUT_FILENO, "");
	return 0;
}
