/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ownmalloc MODE: a program with its own allocator, which does things during a call of malloc that
 * glibc's allocator never does.
 *
 *	longjmp	malloc leaves by longjmp (an out-of-memory handler does that), a hundred times
 *	nested	malloc calls itself, a hundred calls deep: one allocation for the program
 *	signal	a signal arrives inside malloc, and its handler, on an alternate stack, allocates
 *	switch	malloc switches to another coroutine, which allocates, and back
 *
 * Ordinary allocations before and after must still be counted.
 */
#include "truth.h"

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#define TIMES 100
#define DEPTH 100

enum trick { TRICK_NONE, TRICK_LONGJMP, TRICK_NESTED, TRICK_SIGNAL, TRICK_SWITCH };

static char arena[16 << 20] __attribute__((aligned(16)));
static size_t arena_used;
static enum trick trick;
static size_t nested;
static jmp_buf out_of_memory;
static ucontext_t inside, outside;

NOINLINE static struct block t_during(size_t size);

static void play_trick(size_t size)
{
	enum trick now = trick;

	if (now == TRICK_NESTED && nested++ < DEPTH) {
		free(malloc(size));
		return;
	}
	trick = TRICK_NONE;
	if (now == TRICK_LONGJMP)
		longjmp(out_of_memory, 1);
	if (now == TRICK_SIGNAL)
		raise(SIGUSR1);
	if (now == TRICK_SWITCH)
		swapcontext(&outside, &inside);
}

NOINLINE void *malloc(size_t size)
{
	size_t rounded = (size + 15) & ~(size_t)15, place;

	if (trick != TRICK_NONE)
		play_trick(size);
	place = __atomic_fetch_add(&arena_used, rounded + 16, __ATOMIC_RELAXED);
	if (size > sizeof(arena) || place + rounded + 16 > sizeof(arena))
		return NULL;
	return arena + place + 16;
}

NOINLINE void free(void *address)
{
	__asm__ volatile("" : : "r"(address) : "memory");
}

NOINLINE void *calloc(size_t count, size_t size)
{
	__asm__ volatile("" : "+r"(count), "+r"(size));
	return malloc(count * size);
}

NOINLINE void *realloc(void *old, size_t size)
{
	void *new = malloc(size);

	if (old && new)
		memmove(new, old, size);
	return new;
}

NOINLINE static struct block t_ordinary(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_tricky(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_during(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

static void handle(int signal)
{
	(void)signal;
	t_free(t_during(48));
}

static void coroutine(void)
{
	for (;;) {
		t_free(t_during(64));
		swapcontext(&inside, &outside);
	}
}

static void prepare(void)
{
	static char signal_stack[1 << 16], coroutine_stack[1 << 16];
	stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof(signal_stack)};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};

	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL) || getcontext(&inside))
		abort();
	inside.uc_stack.ss_sp = coroutine_stack;
	inside.uc_stack.ss_size = sizeof(coroutine_stack);
	makecontext(&inside, coroutine, 0);
}

static void once(enum trick wanted)
{
	struct block block;

	trick = wanted;
	nested = 0;
	if (setjmp(out_of_memory))
		return;
	block = t_tricky(100);
	trick = TRICK_NONE;
	t_free(block);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"none", "longjmp", "nested", "signal", "switch"};
	enum trick wanted = TRICK_NONE;
	int i;

	for (i = 1; argc > 1 && i < (int)(sizeof(names) / sizeof(names[0])); i++)
		if (!strcmp(argv[1], names[i]))
			wanted = (enum trick)i;
	prepare();
	for (i = 0; i < TIMES; i++) {
		t_free(t_ordinary(10));
		once(wanted);
		t_ordinary(20);
	}
	truth_tell(STDOUT_FILENO, "");
	return 0;
}
