/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signals that ask to end the trace: SIGINT, SIGTERM, SIGHUP, read from a signalfd. Unlike the
 * loop's own signals they carry their origin: a launched program in the same process group has also
 * received a signal from the terminal, but not a signal from another process.
 *
 * One request may arrive as several signals: timeout(1) signals its child and then the whole
 * process group, systemd follows a SIGTERM with a SIGHUP. Signals that processes send within
 * ECHO_NS count once.
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
	uint64_t echo_until_ns; /* until then, signals from processes are echoes */
	bool postponed;
};

struct interrupt {
	int signal;
	bool from_terminal;
};

/* The signals that are ignored now; at the start of main, those that our parent ignores. */
void signals_ignored(sigset_t *ret_ignored);

/*
 * Returns true if there is a controlling terminal, whose loss SIGHUP would report. Call it before
 * SIGHUP is blocked: later the terminal may be gone.
 */
bool trace_has_terminal(void);

/* Opens the descriptor; from now on the signals are blocked and wait there. Returns 0 or -errno. */
int interrupts_open(struct interrupts *ret_interrupts);
/* Reads the next one. Returns 0, or -EAGAIN if there is none. */
int interrupts_read(struct interrupts *interrupts, struct interrupt *ret_interrupt);
/*
 * Returns true if echoes of the last signal may still arrive. They are then examined in
 * interrupts_release, so that nothing waits for them now; until then, no signal ends the program.
 * Returns false if there is nothing to wait for.
 */
bool interrupts_postpone(struct interrupts *interrupts);

/*
 * From now on any of these signals, even a pending one, ends the program at once. Waits for echoes
 * of the last one first. Does nothing if fd is -1: not open, or already released.
 */
void interrupts_release(struct interrupts *interrupts);

/* Dies by this signal, so that the parent sees it; without a core file. */
_Noreturn void die_by_signal(int signal_number);

#endif
