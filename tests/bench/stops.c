/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The floor of tracing by ptrace. For each line "N" on standard input, a child is stopped 3 N times
 * by its own breakpoints and continued. Answers with nanoseconds for three stops, the number that a
 * malloc+free pair needs (entry, return, entry).
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOPS 3

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static _Noreturn void stop_for_ever(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (;;)
#if defined(__x86_64__) || defined(__i386__)
		__asm__ volatile("int3");
#else
		raise(SIGTRAP);
#endif
}

static void stop_and_go(pid_t child, unsigned long count)
{
	for (unsigned long i = 0; i < STOPS * count; i++)
		if (ptrace(PTRACE_CONT, child, NULL, NULL) || waitpid(child, NULL, 0) != child)
			exit(1);
}

int main(void)
{
	pid_t child = fork();
	unsigned long count;

	if (!child)
		stop_for_ever();
	waitpid(child, NULL, 0);
	ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(uintptr_t)PTRACE_O_EXITKILL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%lu", &count) == 1) {
		double start = seconds();

		stop_and_go(child, count);
		printf("%.2f\n", (seconds() - start) * 1e9 / (double)count);
	}
	return 0;
}
