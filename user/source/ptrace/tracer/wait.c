/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a processor is idle, the kernel wakes a thread that we continue there, not where we are
 * about to sleep (kernel/sched/fair.c: select_idle_sibling); so each stop wakes two processors, and
 * a virtual machine pays for that with two exits, more than for all else that a stop takes. Who
 * waits awake saves one of them, and keeps the other short.
 *
 * To wait awake for as long as it takes to be woken costs twice the least at most (Karlin, Li,
 * Manasse and Owicki, "Empirical studies of competitive spinning", SOSP 1991). Where it has not
 * paid, it is left for more and more stops: those of a program that seldom allocates, and of one
 * that could run only where we wait.
 */
#include "source/ptrace/tracer/wait.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "os/process/proc.h"

#define AWAKE_NS     50000
#define LOOKS        16 /* between two looks at the clock */
#define TRUST_MAX    8
#define LOOKS_JUDGED 64
#define PAUSE_FIRST  64
#define PAUSE_LAST   16384

void stop_wait_begin(struct stop_wait *wait)
{
	cpu_set_t set;

	*wait = (struct stop_wait){.pause = PAUSE_FIRST, .trust = 1};
	wait->alone = sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2;
}

static pid_t look(int *ret_status)
{
	uint64_t until_ns = clock_now_ns() + AWAKE_NS;
	pid_t tid = 0;

	do {
		for (int i = 0; i < LOOKS && !tid; i++)
			tid = waitpid(-1, ret_status, __WALL | WNOHANG);
	} while (!tid && clock_now_ns() < until_ns);
	return tid;
}

static void distrust(struct stop_wait *wait, uint32_t trust)
{
	wait->trust = trust;
	wait->paused = 0;
	if (!trust && wait->pause < PAUSE_LAST)
		wait->pause *= 2;
}

/* Was it mostly the thread itself that took our place? Then it would do so if we slept, too. */
static bool is_in_its_way(struct stop_wait *wait)
{
	struct rusage usage = {0};
	long before = wait->displaced;

	if (++wait->looks % LOOKS_JUDGED)
		return false;
	getrusage(RUSAGE_THREAD, &usage);
	wait->displaced = usage.ru_nivcsw;
	return wait->displaced - before > LOOKS_JUDGED / 2;
}

static void paid(struct stop_wait *wait)
{
	if (is_in_its_way(wait))
		distrust(wait, 0);
	else if (wait->trust < TRUST_MAX)
		wait->trust++;
	else
		wait->pause = PAUSE_FIRST;
}

pid_t stop_await(struct stop_wait *wait, int *ret_status)
{
	pid_t tid = 0;

	if (!wait->alone && (wait->trust || ++wait->paused > wait->pause)) {
		tid = look(ret_status);
		if (tid > 0)
			paid(wait);
		else
			distrust(wait, wait->trust / 2);
	}
	return tid ? tid : waitpid(-1, ret_status, __WALL);
}
