/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * altstack signal     a signal handler on an alternate stack allocates and maps, while the program
 *                     maps and unmaps in a loop: signals interrupt probed calls. (The program only
 *                     calls mmap and munmap while signals may arrive, so the handler is safe.)
 * altstack coroutine  coroutines that allocate on their own stacks, above and below main's
 * altstack deep       an allocation below a recursion of 1000 calls
 */
#include "truth.h"

#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#define SIGNALS    200
#define COROUTINES 10
#define SWITCHES   50
#define DEPTH      1000
#define SIZE       ((size_t)16384)

static volatile sig_atomic_t signals;

NOINLINE static struct block t_handler(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_handler_map(size_t size)
{
	BOOKED(mmap, size, mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

NOINLINE static struct block t_loop(size_t size)
{
	BOOKED(mmap, size, mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

NOINLINE static struct block t_coroutine(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_deep(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static void t_unmap(struct block block)
{
	truth_freed(block);
	munmap(block.address, block.size);
}

static void handle(int signal)
{
	(void)signal;
	if (signals >= SIGNALS)
		return;
	signals++;
	t_free(t_handler(100));
	t_handler(10);
	t_unmap(t_handler_map(SIZE));
}

static int by_signal(void)
{
	static char signal_stack[1 << 16];
	stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof(signal_stack)};
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct itimerval on = {{0, 500}, {0, 500}}, off = {{0, 0}, {0, 0}};

	if (sigaltstack(&stack, NULL) || sigaction(SIGALRM, &action, NULL) ||
	    setitimer(ITIMER_REAL, &on, NULL))
		return 1;
	while (signals < SIGNALS)
		t_unmap(t_loop(SIZE));
	return setitimer(ITIMER_REAL, &off, NULL);
}

static ucontext_t scheduler, coroutines[COROUTINES];

static void coroutine(int self)
{
	int i;

	for (i = 0; i < SWITCHES; i++) {
		struct block block = t_coroutine((size_t)self + 1);

		swapcontext(&coroutines[self], &scheduler);
		t_free(block);
		t_coroutine((size_t)i + 1);
	}
	for (;;)
		swapcontext(&coroutines[self], &scheduler);
}

static void prepare(int i)
{
	static char stacks[COROUTINES][1 << 16];
	ucontext_t *context = &coroutines[i];

	if (getcontext(context))
		abort();
	context->uc_stack.ss_sp = stacks[i];
	context->uc_stack.ss_size = sizeof(stacks[i]);
	makecontext(context, (void (*)(void))(void *)coroutine, 1, i);
}

static int by_coroutine(void)
{
	int i, round;

	for (i = 0; i < COROUTINES; i++)
		prepare(i);
	for (round = 0; round <= SWITCHES; round++)
		for (i = 0; i < COROUTINES; i++)
			swapcontext(&scheduler, &coroutines[i]);
	return 0;
}

NOINLINE static int recurse(int depth)
{
	volatile int below;

	if (!depth) {
		t_deep(1234);
		return 0;
	}
	below = recurse(depth - 1);
	return below + 1;
}

static int by_recursion(void)
{
	return recurse(DEPTH) != DEPTH;
}

static const struct {
	const char *name;
	int (*run)(void);
} modes[] = {
	{"signal", by_signal},
	{"coroutine", by_coroutine},
	{"deep", by_recursion},
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (argc > 1 && !strcmp(modes[i].name, argv[1]) && modes[i].run())
			return 1;
	truth_tell(STDOUT_FILENO, "");
	return 0;
}
