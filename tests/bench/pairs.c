/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The workload of the benchmark: malloc+free pairs. For each line "N" on standard input, it makes N
 * pairs of 64 to 127 bytes and answers with nanoseconds per pair. With an argument, the pairs are
 * made below that many calls, to measure the cost of stacks. It is built with frame pointers, so
 * that both unwinders see the same stack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 0;
	unsigned long count;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%lu", &count) == 1) {
		double start = seconds();

		descend(calls, count);
		printf("%.2f\n", (seconds() - start) * 1e9 / (double)count);
	}
	return 0;
}
