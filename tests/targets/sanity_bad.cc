// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frees of invalid pointers, one per run, because the allocator may abort the program:
 *
 *	sanity_bad CASE
 *
 * prints, as JSON, the expected error of the case (null: none), and then runs it in a function
 * named bad_CASE. If there are three stacks, they are those of made_here, freed_here and bad_CASE.
 */
#include "truth.h"

#include <new>
#include <pthread.h>

#define SIZE 40

#pragma GCC diagnostic ignored "-Wfree-nonheap-object"
#pragma GCC diagnostic ignored "-Wuse-after-free"
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

NOINLINE static char *made_here(void)
{
	char *memory = (char *)malloc(SIZE);

	memory[0] = 1;
	return memory;
}

NOINLINE static void freed_here(void *memory)
{
	free(memory);
	truth_opaque(0);
}

NOINLINE static void bad_none(void)
{
	freed_here(made_here());
	free(NULL);
	operator delete(nullptr);
}

NOINLINE static void bad_twice(void)
{
	char *memory = made_here();

	freed_here(memory);
	free(memory);
	truth_opaque(0);
}

/* glibc tolerates this with GLIBC_TUNABLES=glibc.malloc.tcache_count=0. */
NOINLINE static void bad_between(void)
{
	char *memory = made_here(), *other = (char *)malloc(SIZE);

	freed_here(memory);
	free(other);
	free(memory);
	truth_opaque(0);
}

NOINLINE static void bad_delete(void)
{
	char *memory = made_here();

	freed_here(memory);
	operator delete(memory);
	truth_opaque(0);
}

NOINLINE static void bad_realloc(void)
{
	char *memory = made_here();

	freed_here(memory);
	memory = (char *)realloc(memory, 10000);
	truth_opaque((size_t)memory);
}

static void *other_thread(void *memory)
{
	freed_here(memory);
	return NULL;
}

NOINLINE static void bad_thread(void)
{
	char *memory = made_here();
	pthread_t thread;

	if (!pthread_create(&thread, NULL, other_thread, memory))
		pthread_join(thread, NULL);
	free(memory);
	truth_opaque(0);
}

/* The address has been reused: the error is found in the new owner's free. */
NOINLINE static void bad_stale(void)
{
	char *memory = (char *)malloc(SIZE), *owner;

	free(memory);
	owner = made_here();
	if (owner != memory)
		abort();
	freed_here(memory);
	free(owner);
	truth_opaque(0);
}

NOINLINE static void bad_stack(void)
{
	char memory[2 * SIZE];

	free((void *)truth_opaque((size_t)memory + 16));
	truth_opaque(0);
}

NOINLINE static void bad_inside(void)
{
	free(made_here() + 16);
	truth_opaque(0);
}

NOINLINE static void bad_static(void)
{
	static char memory[SIZE];

	operator delete(memory);
	truth_opaque(0);
}

static const struct {
	const char *name, *error;
	void (*run)(void);
} cases[] = {
	{"none", NULL, bad_none},
	{"twice", "double_free", bad_twice},
	{"between", "double_free", bad_between},
	{"delete", "double_free", bad_delete},
	{"realloc", "double_free", bad_realloc},
	{"thread", "double_free", bad_thread},
	{"stale", "double_free", bad_stale},
	{"stack", "invalid_free", bad_stack},
	{"inside", "invalid_free", bad_inside},
	{"static", "invalid_free", bad_static},
};

int main(int argc, char **argv)
{
	struct truth_text out;

	for (const auto &each : cases) {
		const char *quote = each.error ? "\"" : "";

		if (argc > 1 && strcmp(argv[1], each.name))
			continue;
		out.length = 0;
		truth_print(&out, "{\"case\":\"%s\",\"error\":%s%s%s}\n", each.name, quote,
			    each.error ? each.error : "null", quote);
		truth_write(1, out.text, out.length);
		if (argc > 1)
			each.run();
	}
	return 0;
}
