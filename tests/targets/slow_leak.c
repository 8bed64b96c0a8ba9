/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slow_leak SECONDS [LINGER]: leaks at one line. Its other sites do not leak: allocations at the
 * start, a cache that warms up, a cache that fills and is emptied, a list that grows and shrinks,
 * and blocks that are freed immediately. Prints READY after its startup. With LINGER, it finally
 * waits for the end of standard input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STARTED  2000
#define WARM     300
#define CACHE    97
#define LIST     64
#define LEAK     160

static void *volatile started[STARTED], *warm[WARM], *cache[CACHE], *list[LIST];
static unsigned int cached;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

NOINLINE static void start_up(void)
{
	for (int i = 0; i < STARTED; i++)
		started[i] = malloc(512);
}

NOINLINE static void leak_request(void)
{
	/* Nothing references it. */
	void *volatile request = malloc(LEAK);

	memset(request, 1, LEAK);
	request = NULL;
}

NOINLINE static void warm_up(unsigned int round)
{
	unsigned int i = round * 7 % WARM;

	if (!warm[i])
		warm[i] = malloc(1000);
}

NOINLINE static void cache_put(void)
{
	cache[cached++] = malloc(2000);
	while (cached == CACHE || (cached && cached < CACHE && !cache[cached - 1]))
		while (cached)
			free(cache[--cached]);
}

NOINLINE static void list_turn(unsigned int round)
{
	void **item = &list[round * 2654435761u >> 26];

	free(*item);
	*item = round % 3 ? malloc(100 + round % 1000) : NULL;
}

NOINLINE static void free_at_once(void)
{
	void *volatile text = malloc(64);

	free(text);
}

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);

	start_up();
	dprintf(STDOUT_FILENO, "READY\n");
	for (unsigned int round = 0; now() < end; round++) {
		leak_request();
		warm_up(round);
		cache_put();
		list_turn(round);
		free_at_once();
		nanosleep(&pause, NULL);
	}
	dprintf(STDOUT_FILENO, "DONE\n");
	if (argc > 2)
		while (getchar() != EOF)
			;
	return 0;
}
