/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signals that ask for an end: SIGINT, SIGTERM, SIGHUP, read from a descriptor. Unlike the
 * loop's own signals they tell who sent them: what the terminal sends, a launched program in the
 * same process group has got as well; what another process sends, it has not.
 *
 * One request may come as several signals: timeout(1) signals its child and then the whole process
 * group, systemd follows a SIGTERM with a SIGHUP. What processes send within ECHO_NS counts once.
 */
#ifndef MTRACE_APP_TRACE_INTERRUPTS_H
#define MTRACE_APP_TRACE_INTERRUPTS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define ECHO_NS (50 * 1000000ULL)

struct interrupts {
	int fd;
	sigset_t set;
	uint64_t echo_until_ns; /* what processes send until then is an echo */
	bool postponed;
};

struct interrupt {
	int signal;
	bool from_terminal;
};

/* The signals that are ignored now: at the start of main, those that our parent wants ignored. */
void signals_ignored(sigset_t *ret_ignored);

/*
 * Returns true if there is a controlling terminal, whose loss a SIGHUP would report. Call it before
 * SIGHUP is blocked: later the terminal may be gone.
 */
bool trace_has_terminal(void);

/* From now on they wait in the descriptor. 0 or -errno. */
int interrupts_open(struct interrupts *ret_interrupts);
/* The next one: 0, or -EAGAIN if there is none. */
int interrupts_read(struct interrupts *interrupts, struct interrupt *ret_interrupt);
/*
 * If echoes of the last one may still come: they are looked at when the others are released, so
 * that nothing waits for them meanwhile. Until then no process ends us; false: there is no need.
 */
bool interrupts_postpone(struct interrupts *interrupts);

/*
 * From now on each of them, also one that is waiting, ends the program at once; echoes of the last
 * one are awaited first. Does nothing if fd is -1: not open, or released before.
 */
void interrupts_release(struct interrupts *interrupts);

/* End by this signal, so that whoever waits for us sees it; without a core file. */
_Noreturn void die_by_signal(int signal_number);

#endif
