/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The workload of the benchmark: malloc+free pairs. For each line "N" on standard input it makes N
 * pairs of 64 to 127 bytes and answers with nanoseconds per pair.
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

int main(void)
{
	unsigned long count;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%lu", &count) == 1) {
		double start = seconds();

		make_pairs(count);
		printf("%.2f\n", (seconds() - start) * 1e9 / (double)count);
	}
	return 0;
}
