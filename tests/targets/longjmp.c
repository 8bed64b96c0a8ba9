/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A signal handler that jumps out of mmap and munmap JUMPS times, on the same stack or (with an
 * argument) from an alternate one. It is unknown which calls were completed; but all of them use
 * the same range of addresses, and its final state is known.
 *
 * The next signal is requested after the handler of the previous one has returned. With a periodic
 * timer, a slow machine would nest handlers until the stack overflows.
 */
#include "truth.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#define JUMPS 300
#define PAGE  ((size_t)4096)
#define RANGE (8 * PAGE)

static sigjmp_buf back;
static volatile sig_atomic_t jumps;

static void handle(int signal)
{
	(void)signal;
	jumps++;
	siglongjmp(back, 1);
}

/* Arrives at a different point of the loop each time. */
static void ask_for_signal(void)
{
	struct itimerval once = {.it_value = {0, 300 + jumps}};

	setitimer(ITIMER_REAL, &once, NULL);
}

NOINLINE static void t_loop(char *range)
{
	for (;;) {
		munmap(range, RANGE);
		mmap(range, RANGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0);
	}
}

NOINLINE static struct block t_malloc(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static void *t_last(char *range)
{
	return mmap(range, RANGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		    -1, 0);
}

static void handle_signals(int on_alternate_stack)
{
	static char signal_stack[1 << 16];
	stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof(signal_stack)};
	struct sigaction action = {.sa_handler = handle,
				   .sa_flags = on_alternate_stack ? SA_ONSTACK : 0};

	if (sigaltstack(&stack, NULL) || sigaction(SIGALRM, &action, NULL))
		abort();
}

int main(int argc, char **argv)
{
	char *range = mmap(NULL, RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char extra[64];
	int i;

	(void)argv;
	handle_signals(argc > 1);
	(void)sigsetjmp(back, 1);
	if (jumps < JUMPS) {
		ask_for_signal();
		t_loop(range);
	}
	t_last(range);
	for (i = 0; i < 50; i++)
		t_malloc(10);
	snprintf(extra, sizeof(extra), ",\"mappings\":{\"maps\":1,\"bytes\":%zu}", RANGE);
	truth_tell(STDOUT_FILENO, extra);
	return 0;
}
