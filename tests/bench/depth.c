/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The workload of the benchmark of stacks: malloc+free pairs below more calls than are recorded,
 * built with frame pointers, so that both ways to unwind see the same. Questions and answers are
 * those of pairs.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 64

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void make_pairs(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		char *volatile block = malloc(64 + i % 64);

		free(block);
	}
}

__attribute__((noinline, noclone)) static int descend(int calls, unsigned long count)
{
	volatile int room[8] = {calls};

	if (calls > 0)
		return descend(calls - 1, count) + room[0];
	make_pairs(count);
	return room[0];
}

int main(void)
{
	unsigned long count;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%lu", &count) == 1) {
		double start = seconds();

		descend(CALLS, count);
		printf("%.2f\n", (seconds() - start) * 1e9 / (double)count);
	}
	return 0;
}
