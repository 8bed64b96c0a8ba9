/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of new threads and processes. For each line "thread N" or "fork N" on standard input, it
 * creates N threads or children one after the other, none of which calls an allocator itself, and
 * answers with nanoseconds per thread or child.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *nothing(void *argument)
{
	return argument;
}

static int one_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL);
}

static int one_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid < 0 || waitpid(pid, NULL, 0) != pid;
}

int main(void)
{
	unsigned long count;
	char kind[8];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%7s %lu", kind, &count) == 2) {
		int (*born)(void) = strcmp(kind, "fork") ? one_thread : one_child;
		double start = seconds();

		for (unsigned long i = 0; i < count; i++)
			if (born())
				return 1;
		printf("%.0f\n", (seconds() - start) * 1e9 / (double)count);
	}
	return 0;
}
