/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ends HOW [THREADS]: leak 10 blocks of 48 bytes, print READY, and exit. A local variable of each
 * thread references 5 more blocks of 32 bytes.
 *
 *	return	main returns
 *	worker	a thread calls exit(3), which returns 3
 *	leader	the first thread exits first, the others after it
 *	last	every thread calls pthread_exit(3)
 *	abort	abort(3)
 *	crash	writes to a null pointer
 *	term	sends itself SIGTERM
 *	busy	the same, while the other threads run instead of sleeping
 *	kill	sends itself SIGKILL
 *	children	three children, one after the other, leak as many more blocks, and exit by
 *		return, abort and term; then main returns
 *	wait	main returns at the end of standard input, and prints how many signals 10 and 12
 *		(USR1, USR2) it received
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE    __attribute__((noinline, noclone))
#define THREADS_MAX 16
#define LEAKS       10
#define LEAK_SIZE   48
#define KEPT        5
#define KEPT_SIZE   32

static pthread_barrier_t ready, go;
static volatile sig_atomic_t seen[2];

NOINLINE static void *t_leak(void)
{
	return malloc(LEAK_SIZE);
}

NOINLINE static void *t_keep(void)
{
	return malloc(KEPT_SIZE);
}

NOINLINE static void leak(void)
{
	int i;

	for (i = 0; i < LEAKS; i++)
		memset(t_leak(), 1, LEAK_SIZE);
}

/* Overwrites stale pointers to the blocks that earlier calls left on the stack. */
NOINLINE static void forget(void)
{
	char stack[8192];
	int i;

	memset(stack, 0, sizeof(stack));
	__asm__ volatile("" : : "r"(stack) : "memory");
	for (i = 0; i < 8; i++)
		free(malloc(LEAK_SIZE));
}

static void *work(void *how)
{
	void *volatile kept[KEPT];
	int i;

	for (i = 0; i < KEPT; i++)
		kept[i] = t_keep();
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&go);
	if (!strcmp(how, "worker"))
		exit(3);
	if (!strcmp(how, "leader") || !strcmp(how, "last")) {
		usleep(20000);
		for (i = 0; i < KEPT; i++)
			free(kept[i]);
		return NULL;
	}
	for (;;)
		if (strcmp(how, "busy"))
			pause();
}

static void count(int number)
{
	__atomic_add_fetch(&seen[number == SIGUSR2], 1, __ATOMIC_RELAXED); /* by several threads */
}

static void wait_for_input(void)
{
	char byte;
	ssize_t got;

	do {
		got = read(STDIN_FILENO, &byte, 1);
	} while (got);
	printf("signals %d %d\n", (int)seen[0], (int)seen[1]);
}

static int end(const char *how)
{
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "crash"))
		*(volatile int *)NULL = 1;
	if (!strcmp(how, "term") || !strcmp(how, "busy"))
		raise(SIGTERM);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "leader") || !strcmp(how, "last"))
		pthread_exit(NULL);
	if (!strcmp(how, "wait"))
		wait_for_input();
	while (!strcmp(how, "worker"))
		pause();
	return 0;
}

static void run_children(void)
{
	static const char *const ends[] = {"return", "abort", "term"};
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!fork()) {
			leak();
			forget();
			exit(end(ends[i]));
		}
		wait(NULL);
	}
}

int main(int argc, char **argv)
{
	int i, threads = argc > 2 ? atoi(argv[2]) : 0;
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t thread;

	if (threads < 0 || threads > THREADS_MAX)
		return 2;
	signal(SIGUSR1, count);
	signal(SIGUSR2, count);
	pthread_barrier_init(&ready, NULL, (unsigned int)threads + 1);
	pthread_barrier_init(&go, NULL, (unsigned int)threads + 1);
	for (i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, work, argv[1]))
			return 2;
	pthread_barrier_wait(&ready);
	if (strcmp(how, "wait"))
		leak();
	forget();
	if (write(STDOUT_FILENO, "READY\n", 6) != 6)
		return 2;
	if (!strcmp(how, "wait")) { /* a tracer that attaches in the meantime sees the leaks */
		char byte;

		if (read(STDIN_FILENO, &byte, 1) != 1)
			return 2;
		leak();
		forget();
		if (write(STDOUT_FILENO, "LEAKED\n", 7) != 7)
			return 2;
	}
	pthread_barrier_wait(&go);
	if (!strcmp(how, "children"))
		run_children();
	return end(how);
}
