// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PTRACE_SEIZE with PTRACE_O_TRACEEXIT stops each thread at the start of its exit, while it still
 * has its registers and the process its memory. The question is which of these stops is the exit of
 * the process:
 *
 * - The thread was killed by a signal: such a signal ends the process.
 * - No other thread is left: the exit of each was seen.
 * - The thread is in exit_group(2). If it is in exit(2), only this thread exits.
 * - Otherwise another thread ends the process or executes a program, and this thread has to exit
 *   for it. It waits until the other thread comes to its own exit stop, which settles the question,
 *   or is found in execve(2).
 *
 * When the process exits, all threads are held: each comes to its stop, and its registers count.
 *
 * The tracer must not change the behavior of the process: it passes signals on as they arrive. A
 * process that is stopped by job control must stay stopped and yet wake up at SIGCONT;
 * PTRACE_LISTEN does that.
 */
#include "os/ptrace/exit_hold.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "arch/registers.h"
#include "os/process/proc.h"

#define STOP_TIMEOUT_NS (2 * 1000000000ULL)

void hold_resume(struct exit_hold *hold)
{
	hold->stopping = false;
	hold->ending = false;
	hold->deadline_ns = 0;
	tracees_resume(&hold->tracees);
}

static void await_stops(struct exit_hold *hold)
{
	hold->stopping = true;
	hold->deadline_ns = clock_now_ns() + STOP_TIMEOUT_NS;
}

void hold_begin_stop(struct exit_hold *hold)
{
	const struct tracee *tracee;

	await_stops(hold);
	vec_each (tracee, &hold->tracees.list)
		if (tracee->state == TRACEE_RUNS)
			ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL);
}

/* Exits. */

enum exit_kind { EXIT_OF_THREAD, EXIT_OF_PROCESS, EXIT_BY_KILL, EXIT_UNKNOWN };

static const struct registers_layout *layout_of(pid_t tid)
{
	struct thread_registers registers = {.tid = tid};
	const struct registers_layout *layout;

	tracee_read_registers(&registers);
	layout = registers_layout_of_word(registers.word);
	tracee_free_registers(&registers);
	return layout;
}

static enum exit_kind exit_by_call(const struct exit_hold *hold, const struct tracee *tracee)
{
	const struct registers_layout *layout = tracee->layout;
	long call = tracee_call(hold->pid, tracee->tid);

	if (layout && call == layout->exit)
		return EXIT_OF_THREAD;
	return layout && call == layout->exit_group ? EXIT_OF_PROCESS : EXIT_UNKNOWN;
}

static enum exit_kind exit_kind_of(const struct exit_hold *hold, const struct tracee *tracee)
{
	unsigned long status = 0;

	ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &status);
	if (WIFSIGNALED((int)status))
		return WTERMSIG((int)status) == SIGKILL ? EXIT_BY_KILL : EXIT_OF_PROCESS;
	if (!tracees_any(&hold->tracees, TRACEE_RUNS) &&
	    !tracees_any(&hold->tracees, TRACEE_STOPPED) &&
	    !tracees_any(&hold->tracees, TRACEE_EXITING))
		return EXIT_OF_PROCESS;
	return exit_by_call(hold, tracee);
}

/* The state is TRACEE_GONE while exit_kind_of decides, so that it does not count this thread. */
static void exit_stop(struct exit_hold *hold, struct tracee *tracee)
{
	enum exit_kind kind;

	tracee->state = TRACEE_GONE;
	tracee->layout = layout_of(tracee->tid);
	kind = exit_kind_of(hold, tracee);
	if (kind == EXIT_BY_KILL || !hold->armed) {
		ptrace(PTRACE_CONT, tracee->tid, NULL, NULL);
		return;
	}
	tracee->state = TRACEE_EXITING;
	if (kind == EXIT_OF_PROCESS && !hold->ending) {
		hold->ending = true;
		await_stops(hold);
	}
	if (hold->stopping)
		tracee->state = TRACEE_HELD;
	else if (kind == EXIT_OF_THREAD)
		tracee_resume(tracee);
	else
		hold->deadline_ns = clock_now_ns() + STOP_TIMEOUT_NS;
}

/* Returns true if another thread is about to execute a program. */
static bool is_execing(const struct exit_hold *hold, const struct registers_layout *layout)
{
	const struct tracee *tracee;

	vec_each (tracee, &hold->tracees.list) {
		long call = -1;

		if (tracee->state == TRACEE_RUNS)
			call = tracee_call(hold->pid, tracee->tid);
		if (call >= 0 && (call == layout->execve || call == layout->execveat))
			return true;
	}
	return false;
}

static bool is_due(const struct exit_hold *hold)
{
	return hold->deadline_ns && clock_now_ns() > hold->deadline_ns;
}

/* Decides about exits that could belong to the exit of the process or to an exec. */
static void decide_exits(struct exit_hold *hold)
{
	bool undecided = false;
	struct tracee *tracee;

	vec_each (tracee, &hold->tracees.list) {
		if (tracee->state != TRACEE_EXITING)
			continue;
		if (hold->ending)
			tracee->state = TRACEE_HELD;
		else if (!tracee->layout || is_due(hold) || is_execing(hold, tracee->layout))
			tracee_resume(tracee);
		else
			undecided = true;
	}
	if (!undecided && !hold->stopping)
		hold->deadline_ns = 0;
}

/* Other stops. */

static bool stops_processes(int signal_number)
{
	return signal_number == SIGSTOP || signal_number == SIGTSTP || signal_number == SIGTTIN ||
	       signal_number == SIGTTOU;
}

void hold_exec(struct exit_hold *hold)
{
	while (hold->tracees.list.count)
		tracees_remove(&hold->tracees,
			       hold->tracees.list.items[hold->tracees.list.count - 1].tid);
	(void)tracees_add(&hold->tracees, hold->pid);
	hold->tracees.unseen = false;
	hold->armed = true;
}

void hold_stopped(struct exit_hold *hold, struct tracee *tracee, int status)
{
	int event = TRACEE_EVENT(status), signal_number = TRACEE_SIGNAL(status);

	if (event == PTRACE_EVENT_EXIT) {
		exit_stop(hold, tracee);
		return;
	}
	tracee->state = TRACEE_STOPPED;
	tracee->signal = event ? 0 : signal_number;
	tracee->listen = event == PTRACE_EVENT_STOP && stops_processes(signal_number);
	if (!hold->stopping)
		tracee_resume(tracee);
}

/* Waiting for stops. */

static enum hold_state give_up(struct exit_hold *hold, int code)
{
	hold_resume(hold);
	hold->failure = code;
	return HOLD_FAILED;
}

/* All threads have stopped. */
static enum hold_state complete(struct exit_hold *hold)
{
	int code = tracees_read(&hold->tracees, hold->ending ? &hold->at_last : &hold->on_demand);

	if (code)
		return give_up(hold, code);
	hold->deadline_ns = 0;
	hold->at_end = hold->ending;
	return HOLD_COMPLETE;
}

enum hold_state hold_check(struct exit_hold *hold)
{
	decide_exits(hold);
	if (!hold->stopping || !hold->deadline_ns)
		return HOLD_NONE;
	if (!tracees_any(&hold->tracees, TRACEE_RUNS))
		return complete(hold);
	return is_due(hold) ? give_up(hold, -ETIMEDOUT) : HOLD_WAITS;
}

void hold_free(struct exit_hold *hold)
{
	tracee_set_free(&hold->on_demand);
	tracee_set_free(&hold->at_last);
	tracees_free(&hold->tracees);
}
