/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * callbacks [DEPTH]: allocates in callbacks of the C library. Each callback calls all of them
 * again, down to DEPTH levels, so stacks alternate between the program and libc. Compiled as
 * distributions do (see the Makefile). Prints nothing: another unwinder is the reference.
 */
#include <ftw.h>
#include <link.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 400 /* 4 bytes each: before glibc 2.37, qsort allocates for more than 1 KiB */

static void all_ways(int depth);

/* The depth for callbacks that get no argument from us. */
static __thread int depth_now;

static void callback(int depth)
{
	void *block = malloc(100 + (size_t)depth);

	__asm__ volatile("" : : "r"(block) : "memory");
	free(block);
	if (depth > 0)
		all_ways(depth - 1);
	depth_now = depth;
}

static void fill(int *numbers, int count)
{
	for (int i = 0; i < count; i++)
		numbers[i] = (i * 37) % count;
}

static int compare(const void *a, const void *b)
{
	int one = *(const int *)a, other = *(const int *)b;

	if (one == 1 && other == 0)
		callback(depth_now);
	return (one > other) - (one < other);
}

static int compare_with(const void *a, const void *b, void *depth)
{
	int one = *(const int *)a, other = *(const int *)b;

	if (one + other == 3)
		callback(*(int *)depth);
	return (one > other) - (one < other);
}

static void by_qsort(int depth)
{
	int numbers[NUMBERS];

	depth_now = depth;
	fill(numbers, 8);
	qsort(numbers, 8, sizeof(*numbers), compare);
	fill(numbers, NUMBERS);
	qsort_r(numbers, NUMBERS, sizeof(*numbers), compare_with, &depth);
}

static void by_bsearch(int depth)
{
	static const int numbers[] = {0, 1, 2, 3, 4, 5, 6};
	int key = 1;

	(void)depth;
	bsearch(&key, numbers, 7, sizeof(*numbers), compare);
}

static void on_node(const void *node, VISIT visit, void *depth)
{
	(void)node;
	if (visit == leaf)
		callback(*(int *)depth);
}

static void on_free(void *node)
{
	if (*(int *)node == 1)
		callback(depth_now);
}

static void by_tree(int depth)
{
	static int numbers[] = {0, 1, 2};
	void *tree = NULL;

	for (int i = 0; i < 3; i++)
		tsearch(&numbers[i], &tree, compare);
	twalk_r(tree, on_node, &depth);
	depth_now = depth;
	tdestroy(tree, on_free);
}

/* A lock is held: another thread that is created here would deadlock on it. */
static int on_module(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info;
	(void)size;
	(void)data;
	callback(0);
	return 1;
}

static void by_dl_iterate_phdr(int depth)
{
	dl_iterate_phdr(on_module, NULL);
	depth_now = depth;
}

static int on_file(const char *path, const struct stat *status, int flag, struct FTW *place)
{
	(void)path;
	(void)status;
	(void)flag;
	(void)place;
	callback(depth_now);
	return 1;
}

static void by_nftw(int depth)
{
	depth_now = depth;
	nftw("/", on_file, 1, FTW_PHYS);
}

static ssize_t on_write(void *depth, const char *text, size_t size)
{
	(void)text;
	callback(*(int *)depth);
	return (ssize_t)size;
}

static void by_stdio(int depth)
{
	FILE *file = fopencookie(&depth, "w", (cookie_io_functions_t){.write = on_write});

	if (!file)
		abort();
	fprintf(file, "%d %s\n", depth, "text");
	fclose(file);
}

static void on_thread_exit(void *depth)
{
	callback(*(int *)depth);
}

static void *thread(void *depth)
{
	pthread_cleanup_push(on_thread_exit, depth);
	callback(*(int *)depth);
	pthread_cleanup_pop(1);
	return NULL;
}

static void by_thread(int depth)
{
	pthread_t id;

	if (pthread_create(&id, NULL, thread, &depth))
		abort();
	pthread_join(id, NULL);
}

static void all_ways(int depth)
{
	static void (*const ways[])(int) = {
		by_qsort, by_bsearch, by_tree, by_dl_iterate_phdr, by_nftw, by_stdio, by_thread,
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		ways[i](depth);
}

static void at_end(void)
{
	all_ways(0);
}

int main(int count, char **words)
{
	atexit(at_end);
	all_ways(count > 1 ? atoi(words[1]) : 1);
	return 0;
}
