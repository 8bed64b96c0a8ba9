// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A truth table of releases: every allocation function with every release function, and which pairs
 * are errors. Each pair is a function, pair_ALLOCATION_RELEASE, so that reported stacks name it.
 *
 * Prints one line of JSON for each pair: its name and the kind of error, or null. Errors that would
 * abort the program (a double free, a free of an invalid pointer) use an allocator that tolerates
 * them: see tests/targets/sanity_tolerant.c.
 */
#include "truth.h"

#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <stdio.h>

#define SIZE 40

struct pair {
	const char *name, *error;
	void (*run)(void);
};

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

static const std::align_val_t alignment{64};

/* Ways to get a block of SIZE bytes, and the kind of allocator of each. */
static void *by_posix_memalign(void)
{
	void *memory;

	return posix_memalign(&memory, 64, SIZE) ? NULL : memory;
}

static void *by_getline(void)
{
	char text[] = "a line\n", *line = NULL;
	FILE *in = fmemopen(text, sizeof(text), "r");
	size_t size = 0;

	if (getline(&line, &size, in) < 0)
		abort();
	fclose(in);
	return line;
}

static void *by_asprintf(void)
{
	char *text;

	return asprintf(&text, "%s", "text") < 0 ? NULL : text;
}

static void by_new_realloc(void *memory)
{
	free(realloc(memory, 3 * SIZE));
}

#define ALLOCATIONS(USE, ...)                                                  \
	USE(malloc, MALLOC, malloc(SIZE), __VA_ARGS__)                         \
	USE(calloc, MALLOC, calloc(1, SIZE), __VA_ARGS__)                      \
	USE(realloc, MALLOC, realloc(NULL, SIZE), __VA_ARGS__)                 \
	USE(memalign, MALLOC, memalign(64, SIZE), __VA_ARGS__)                 \
	USE(aligned, MALLOC, aligned_alloc(64, 64), __VA_ARGS__)               \
	USE(posix, MALLOC, by_posix_memalign(), __VA_ARGS__)                   \
	USE(valloc, MALLOC, valloc(SIZE), __VA_ARGS__)                         \
	USE(strdup, MALLOC, strdup("forty bytes"), __VA_ARGS__)                \
	USE(getline, MALLOC, by_getline(), __VA_ARGS__)                        \
	USE(asprintf, MALLOC, by_asprintf(), __VA_ARGS__)                      \
	USE(new, NEW, operator new(SIZE), __VA_ARGS__)                         \
	USE(new_try, NEW, operator new(SIZE, std::nothrow), __VA_ARGS__)       \
	USE(new_align, NEW, operator new(SIZE, alignment), __VA_ARGS__)        \
	USE(array, ARRAY, operator new[](SIZE), __VA_ARGS__)                   \
	USE(array_try, ARRAY, operator new[](SIZE, std::nothrow), __VA_ARGS__) \
	USE(array_align, ARRAY, operator new[](SIZE, alignment), __VA_ARGS__)

#define RELEASES(USE)                                                         \
	USE(free, MALLOC, free(memory))                                       \
	USE(realloc, MALLOC, by_new_realloc(memory))                          \
	USE(delete, NEW, operator delete(memory))                             \
	USE(delete_try, NEW, operator delete(memory, std::nothrow))           \
	USE(delete_align, NEW, operator delete(memory, alignment))            \
	USE(delete_array, ARRAY, operator delete[](memory))                   \
	USE(delete_array_try, ARRAY, operator delete[](memory, std::nothrow)) \
	USE(delete_array_align, ARRAY, operator delete[](memory, alignment))

enum allocator_kind { MALLOC, NEW, ARRAY };

#define PAIR(allocation, allocated, allocate, release, released, statement) \
	NOINLINE static void pair_##allocation##_##release(void)            \
	{                                                                   \
		void *memory = allocate;                                    \
                                                                            \
		truth_opaque((size_t)memory);                               \
		statement;                                                  \
	}

#define PAIRS_OF(release, released, statement) ALLOCATIONS(PAIR, release, released, statement)
RELEASES(PAIRS_OF)

#define LINE(allocation, allocated, allocate, release, released, statement)          \
	{#allocation "_" #release, allocated == released ? NULL : "mismatched_free", \
	 pair_##allocation##_##release},
#define LINES_OF(release, released, statement) ALLOCATIONS(LINE, release, released, statement)

/* Sizes that are passed to sized delete. */
#define SIZED(name, error, allocate, release)       \
	NOINLINE static void pair_size_##name(void) \
	{                                           \
		void *memory = allocate;            \
                                                    \
		truth_opaque((size_t)memory);       \
		release;                            \
	}
#define SIZES(USE)                                                                           \
	USE(right, NULL, operator new(SIZE), operator delete(memory, SIZE))                  \
	USE(none, NULL, operator new(0), operator delete(memory, (size_t)0))                 \
	USE(less, "size_mismatch", operator new(SIZE), operator delete(memory, SIZE - 8))    \
	USE(more, "size_mismatch", operator new(SIZE), operator delete(memory, SIZE + 1))    \
	USE(array, NULL, operator new[](SIZE), operator delete[](memory, SIZE))              \
	USE(array_less, "size_mismatch", operator new[](SIZE), operator delete[](memory, 1)) \
	USE(aligned,                                                                         \
	    NULL, operator new(SIZE, alignment), operator delete(memory, SIZE, alignment))   \
	USE(aligned_more, "size_mismatch", operator new(SIZE, alignment),                    \
					   operator delete(memory, 2 * SIZE, alignment))
SIZES(SIZED)
#define SIZE_LINE(name, error, allocate, release) {"size_" #name, error, pair_size_##name},

static const struct pair pairs[] = {RELEASES(LINES_OF) SIZES(SIZE_LINE)};

int main(void)
{
	struct truth_text out;

	free(NULL);
	operator delete(nullptr);
	operator delete[](nullptr);
	for (const struct pair &pair : pairs) {
		pair.run();
		out.length = 0;
		truth_print(&out, "{\"pair\":\"%s\",\"error\":%s%s%s}\n", pair.name,
			    pair.error ? "\"" : "", pair.error ? pair.error : "null",
			    pair.error ? "\"" : "");
		truth_write(1, out.text, out.length);
	}
	return 0;
}
