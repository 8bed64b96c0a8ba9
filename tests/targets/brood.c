/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * brood waited|ignored: starts one child after the other until the end of standard input. Each
 * makes PAIRS pairs of malloc and free, and exits. The truth is the number of pairs and the CPU
 * time of the children, each up to the moment before it exits. "ignored": SIGCHLD is ignored, so
 * the kernel reaps the children, and adds their time to no other process.
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAIRS 500

static uint64_t own_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void child(uint64_t *time)
{
	for (int i = 0; i < PAIRS; i++) {
		void *volatile block = malloc(100);

		free(block);
	}
	*time += own_time();
	_exit(0);
}

static int is_over(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0) != 0;
}

int main(int argc, char **argv)
{
	uint64_t *time = mmap(NULL, sizeof(*time), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t count = 0;

	if (argc < 2 || time == MAP_FAILED)
		return 2;
	if (!strcmp(argv[1], "ignored"))
		signal(SIGCHLD, SIG_IGN);
	for (; !is_over(); count++) {
		if (!fork())
			child(time);
		wait(NULL);
	}
	dprintf(STDOUT_FILENO, "{\"pairs\": %lu, \"cpu_ns\": %lu}\n", (unsigned long)count * PAIRS,
		(unsigned long)(*time + own_time()));
	return 0;
}
