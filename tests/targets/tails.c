/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leaks blocks that only the allocator's own pointers point into: glibc's address of a free chunk
 * or of the top chunk is the address of the last word of the previous block. 408 blocks of 41,338
 * bytes, from the first arena and from a thread's. With an argument, it waits for a line before it
 * starts, and for another one before it exits.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMES 200
#define BIG   2000 /* no thread caches a chunk of this size */

static const size_t sizes[] = {17, 20, 24, 33, 40, 100, 104, 1000};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void *volatile fences[2 * TIMES + SIZES]; /* keep free chunks from merging */
static size_t fence_count;

static void t_leak(size_t size)
{
	char *volatile leaked = malloc(size);
	void *volatile next = malloc(BIG);

	fences[fence_count++] = malloc(BIG);
	if (leaked)
		memset(leaked, 1, size);
	free(next);
	leaked = next = NULL;
}

static void *leak_many(void *unused)
{
	for (int i = 0; i < TIMES; i++)
		t_leak(100);
	return unused;
}

static void wait_for_line(const char *state)
{
	puts(state);
	fflush(stdout);
	getchar();
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	if (argc > 1)
		wait_for_line("ready");
	for (size_t i = 0; i < SIZES; i++)
		t_leak(sizes[i]);
	leak_many(NULL);
	if (pthread_create(&thread, NULL, leak_many, NULL))
		return 1;
	pthread_join(thread, NULL);
	if (argc > 1)
		wait_for_line("done");
	return 0;
}
