/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/trace/interrupts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "os/process/proc.h"

#define SHELL_SIGNAL_BASE 128 /* how a shell reports death by signal */

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
#define ENDING_COUNT (sizeof(ending_signals) / sizeof(ending_signals[0]))

/*
 * nohup(1) asks that SIGHUP be ignored. An ignored SIGINT means nothing: shells set it for
 * background commands of scripts, and such scripts end a trace with kill -INT.
 */
static bool signal_ignored_on_purpose(int signal_number)
{
	struct sigaction action;

	return signal_number == SIGHUP && !sigaction(signal_number, NULL, &action) &&
	       action.sa_handler == SIG_IGN;
}

void signals_ignored(sigset_t *ret_ignored)
{
	sigemptyset(ret_ignored);
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;

		if (!sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN)
			sigaddset(ret_ignored, number);
	}
}

int interrupts_open(struct interrupts *ret_interrupts)
{
	struct interrupts interrupts = {0};

	sigemptyset(&interrupts.set);
	for (size_t i = 0; i < ENDING_COUNT; i++)
		if (!signal_ignored_on_purpose(ending_signals[i]))
			sigaddset(&interrupts.set, ending_signals[i]);
	interrupts.fd = signalfd(-1, &interrupts.set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (interrupts.fd < 0)
		return -errno;
	sigprocmask(SIG_BLOCK, &interrupts.set, NULL);
	*ret_interrupts = interrupts;
	return 0;
}

static bool is_echo(struct interrupts *interrupts, const struct interrupt *interrupt)
{
	uint64_t now = clock_now_ns();

	if (interrupt->from_terminal)
		return false;
	if (now < interrupts->echo_until_ns)
		return true;
	interrupts->echo_until_ns = now + ECHO_NS;
	return false;
}

int interrupts_read(struct interrupts *interrupts, struct interrupt *ret_interrupt)
{
	struct signalfd_siginfo info;

	do {
		if (read(interrupts->fd, &info, sizeof(info)) != sizeof(info))
			return -EAGAIN;
		ret_interrupt->signal = (int)info.ssi_signo;
		ret_interrupt->from_terminal = info.ssi_code == SI_KERNEL;
	} while (is_echo(interrupts, ret_interrupt));
	return 0;
}

bool interrupts_postpone(struct interrupts *interrupts)
{
	interrupts->postponed = clock_now_ns() < interrupts->echo_until_ns;
	return interrupts->postponed;
}

/* The arrival times are lost by now, so every signal sent by a process counts as an echo. */
static void take_postponed(struct interrupts *interrupts)
{
	uint64_t until_ns = interrupts->echo_until_ns;
	struct interrupt interrupt;

	interrupts->echo_until_ns = UINT64_MAX;
	if (!interrupts_read(interrupts, &interrupt))
		die_by_signal(interrupt.signal);
	interrupts->echo_until_ns = until_ns;
	interrupts->postponed = false;
}

/* Discards the echoes. Any other signal would have ended us if it had come a little later. */
static void interrupts_settle(struct interrupts *interrupts)
{
	struct pollfd wait = {.fd = interrupts->fd, .events = POLLIN};
	struct interrupt interrupt;
	uint64_t now;

	if (interrupts->postponed)
		take_postponed(interrupts);
	while ((now = clock_now_ns()) < interrupts->echo_until_ns) {
		poll(&wait, 1, (int)((interrupts->echo_until_ns - now) / 1000000 + 1));
		if (!interrupts_read(interrupts, &interrupt))
			die_by_signal(interrupt.signal);
	}
}

void interrupts_release(struct interrupts *interrupts)
{
	if (interrupts->fd < 0)
		return;
	interrupts_settle(interrupts);
	for (size_t i = 0; i < ENDING_COUNT; i++)
		if (sigismember(&interrupts->set, ending_signals[i]))
			signal(ending_signals[i], SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &interrupts->set, NULL);
	close(interrupts->fd);
	interrupts->fd = -1;
}

void die_by_signal(int signal_number)
{
	const struct rlimit no_core = {0, 0};
	sigset_t set;

	setrlimit(RLIMIT_CORE, &no_core);
	signal(signal_number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signal_number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(signal_number);
	_exit(SHELL_SIGNAL_BASE + signal_number);
}

bool trace_has_terminal(void)
{
	int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (terminal >= 0)
		close(terminal);
	return terminal >= 0;
}
