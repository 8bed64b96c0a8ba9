/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals during allocations: many from a timer, and the program's own SIGTRAPs, by an instruction
 * and by kill(2). Each must be delivered as often as it was sent.
 */
#include "truth.h"

#include <signal.h>
#include <sys/time.h>

#define ROUNDS 2000
#define TRAPS  50

static volatile sig_atomic_t traps, alarms;

NOINLINE static struct block t_work(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

static void on_trap(int number)
{
	(void)number;
	traps++;
}

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

int main(void)
{
	const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};

	signal(SIGTRAP, on_trap);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		t_free(t_work((size_t)(10 + i % 100)));
		if (i % (ROUNDS / TRAPS))
			continue;
#if defined(__x86_64__) || defined(__i386__)
		__asm__ volatile("int3");
#else
		raise(SIGTRAP);
#endif
		kill(getpid(), SIGTRAP);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	truth_tell(STDOUT_FILENO, "");
	return traps != 2 * TRAPS || !alarms;
}
