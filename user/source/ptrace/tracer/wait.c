/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel wakes a thread that we continue on an idle CPU, not on ours, where we are about to
 * sleep (kernel/sched/fair.c: select_idle_sibling). So each stop wakes two CPUs, and in a virtual
 * machine that costs two exits, more than everything else in a stop. Polling instead of sleeping
 * avoids one of them, and keeps the other short.
 *
 * Polling for as long as a wake-up takes costs at most twice the optimum (Karlin, Li, Manasse and
 * Owicki, "Empirical studies of competitive spinning", SOSP 1991). When it has not paid off, it is
 * skipped for more and more stops: for programs that seldom allocate, and for those that could only
 * run on our CPU.
 */
#include "source/ptrace/tracer/wait.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "os/process/proc.h"

#define AWAKE_NS        50000
#define POLLS           16 /* polls between two reads of the clock */
#define TRUST_MAX       8
#define POLLS_EVALUATED 64
#define PAUSE_FIRST     64
#define PAUSE_LAST      16384

void stop_wait_begin(struct stop_wait *wait)
{
	cpu_set_t set;

	*wait = (struct stop_wait){.pause = PAUSE_FIRST, .trust = 1};
	wait->alone = sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) < 2;
}

static pid_t poll_children(int *ret_status)
{
	uint64_t until_ns = clock_now_ns() + AWAKE_NS;
	pid_t tid = 0;

	do {
		for (int i = 0; i < POLLS && !tid; i++)
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

/* Returns true if mostly the traced thread itself displaced us, as it would if we slept. */
static bool is_in_its_way(struct stop_wait *wait)
{
	struct rusage usage = {0};
	long before = wait->displaced;

	if (++wait->polls % POLLS_EVALUATED)
		return false;
	getrusage(RUSAGE_THREAD, &usage);
	wait->displaced = usage.ru_nivcsw;
	return wait->displaced - before > POLLS_EVALUATED / 2;
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
		tid = poll_children(ret_status);
		if (tid > 0)
			paid(wait);
		else
			distrust(wait, wait->trust / 2);
	}
	return tid ? tid : waitpid(-1, ret_status, __WALL);
}
