/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exits with a stale pointer to a block, which nothing reads: "returned" in the frame of a function
 * that has returned, "array" in an array that was never written, "thread" on the stack of a thread
 * that has exited, "freed" in a freed block at the start of the heap. "above": like "array", but
 * it exits in a function further down, which has called setjmp. "wait": like "array", but it waits
 * for a line first, and for the end of its input afterwards. The pointer is not stale, and the
 * block is still used: "live", and "waiting", by a thread that waits. Compiled without
 * optimisation.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES 5
#define WORDS 64

static void returned(void)
{
	char *block = malloc(BYTES);

	if (block)
		block[0] = 'a';
}

static void fill(void)
{
	char *volatile array[WORDS];

	for (int i = 0; i < WORDS; i++)
		array[i] = i ? array[0] : malloc(BYTES);
}

/* Its array is where fill's array was. */
static void end_over_array(void)
{
	char *volatile array[WORDS];

	if (getpid() < 0) {
		array[0] = NULL;
		puts(array[0]);
	}
	exit(0);
}

/* Its words cannot be classified, nor those above it that may be its arguments. */
static void end_after_setjmp(void)
{
	static jmp_buf place;

	if (!setjmp(place))
		exit(0);
}

static void call_end(void)
{
	end_after_setjmp();
}

static void end_above_setjmp(void)
{
	char *volatile array[WORDS];

	if (getpid() < 0) {
		array[0] = NULL;
		puts(array[0]);
	}
	call_end();
}

/* The first block of a heap: only malloc's own data are before it. */
static void freed(void)
{
	char **array = malloc(WORDS * sizeof(*array));

	for (int i = 0; array && i < WORDS; i++)
		array[i] = malloc(BYTES);
	free(array);
}

/* The same, but waits for the end of its input. */
static void wait_over_array(void)
{
	static char byte; /* an address in the frame would make everything above it live */
	char *volatile array[WORDS];

	if (write(1, "LEAKED\n", 7) != 7)
		puts(array[0]);
	while (read(0, &byte, 1) > 0)
		;
}

static void wait_for_line(void)
{
	char byte;

	if (write(1, "READY\n", 6) != 6)
		abort();
	while (read(0, &byte, 1) > 0 && byte != '\n')
		;
}

static void live(void)
{
	char *block = malloc(BYTES);

	if (getpid() > 0)
		_exit(0);
	block[0] = 'a';
}

static void *fill_stack(void *unused)
{
	fill();
	return unused;
}

static void thread(void)
{
	pthread_t id;

	if (!pthread_create(&id, NULL, fill_stack, NULL))
		pthread_join(id, NULL);
}

static void *wait_with_block(void *barrier)
{
	char *block = malloc(BYTES);

	pthread_barrier_wait(barrier);
	pause();
	block[0] = 'a';
	return block;
}

static void waiting(void)
{
	static pthread_barrier_t barrier;
	pthread_t id;

	pthread_barrier_init(&barrier, NULL, 2);
	if (!pthread_create(&id, NULL, wait_with_block, &barrier))
		pthread_barrier_wait(&barrier);
}

static void array(void)
{
	fill();
	end_over_array();
}

static void above(void)
{
	fill();
	end_above_setjmp();
}

static void wait(void)
{
	wait_for_line();
	fill();
	wait_over_array();
}

static const struct mode {
	const char *name;
	void (*run)(void);
} modes[] = {
	{"returned", returned}, {"array", array}, {"above", above}, {"thread", thread},
	{"freed", freed},       {"wait", wait},   {"live", live},   {"waiting", waiting},
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "returned";

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(name, modes[i].name))
			modes[i].run();
	return 0;
}
