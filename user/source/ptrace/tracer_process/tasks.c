/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads are seized, so no signal is sent to them and job control works: a group stop is kept
 * (PTRACE_LISTEN), every other signal is delivered (ptrace(2)).
 *
 * A new thread or child may stop before or after its creator reports it: whichever comes second
 * finds the first in the table.
 *
 * Detaching. First the original code is restored. A thread may still be on its way into the trap of
 * a breakpoint that it has just hit; detached now, it would be killed by the trap. A thread that
 * sleeps in a system call cannot be. So only the others are interrupted and waited for; sleeping
 * threads notice nothing, and are detached when this process exits.
 */
#include "source/ptrace/tracer_process/tasks.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "os/ptrace/seize.h"
#include "os/ptrace/tracee.h"
#include "source/ptrace/breakpoint/calls.h"
#include "source/ptrace/breakpoint/registers.h"
#include "source/ptrace/breakpoint/space.h"
#include "source/ptrace/breakpoint/foreign_uprobes.h"
#include "source/ptrace/breakpoint/step.h"
#include "source/ptrace/tracer_process/forks.h"
#include "source/ptrace/tracer_process/exit_hold.h"
#include "source/ptrace/tracer_process/image.h"
#include "source/ptrace/tracer_process/table.h"
#include "source/ptrace/tracer/records.h"

#define OPTIONS \
	(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)
#define EVENT_OF(status) ((status) >> 16)
#define FOLLOW_STOPS     64 /* check the thread's CPU once in this many stops */

/*
 * Stops.
 */

/* If the breakpoint was removed after the thread had hit it, sets the thread back, so that it runs
 * the original instruction, and returns true. */
static bool restart_if_removed(struct task *task, struct arch_registers *registers)
{
	const struct arch *arch = registers->arch;
	uint64_t address = arch_get(registers, ARCH_IP) - arch->trap_distance;

	if (space_traps(task->owner->memory, address, arch->mode_of(registers)))
		return false;
	arch_set_ip(registers, address);
	return !arch->trap_distance || !task_registers_set(task->tid, registers);
}

/* Returns true if the kernel sent that SIGTRAP for a breakpoint instruction. */
static bool is_of_breakpoint(const struct task *task, const siginfo_t *info)
{
	const struct arch *arch = task->owner ? task->owner->memory->arch : NULL;

	return arch && info->si_code == arch->trap_code;
}

static bool is_trap_of_breakpoint(const struct task *task)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) && is_of_breakpoint(task, &info);
}

/* Returns true if this hit was handled before, but its instruction was interrupted. */
static bool is_done(const struct task *task, const struct arch_registers *registers)
{
	return task->done_ip == arch_get(registers, ARCH_IP) &&
	       task->done_sp == arch_get(registers, ARCH_SP);
}

/*
 * Waking up on another CPU takes longer than everything else that is done for a stop. The thread is
 * stopped while we work, so run on its CPU.
 */
static void tracer_follow(struct tracer *tracer, const struct task *task)
{
	cpu_set_t set;
	int processor;

	if (++tracer->stops % FOLLOW_STOPS)
		return;
	processor = task_processor(task->owner->pid, task->tid);
	if (processor < 0 || processor == tracer->processor)
		return;
	tracer->processor = processor;
	CPU_ZERO(&set);
	CPU_SET((size_t)processor, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Handles SIGTRAP, from our breakpoint or the program's own. */
static void trapped(struct tracer *tracer, struct task *task)
{
	struct breakpoint *breakpoint;
	struct arch_registers registers;
	uint64_t address;
	bool held = false;
	int status;

	if (task_registers_get(task->tid, &registers))
		return; /* it was killed */
	address = arch_get(&registers, ARCH_IP) - registers.arch->trap_distance;
	breakpoint = breakpoint_find(task->owner->memory, address);
	if ((!breakpoint || registers.arch->may_be_behind(breakpoint->code)) &&
	    !is_trap_of_breakpoint(task)) {
		task_continue(task, SIGTRAP);
		return;
	}
	if (!breakpoint) {
		task_continue(task, restart_if_removed(task, &registers) ? 0 : SIGTRAP);
		return;
	}
	arch_set_ip(&registers, address);
	breakpoint->hit_ns = tracer->checked_ns;
	foreign_uprobes_hit(task->owner);
	if (!task->owner->bystander && !is_done(task, &registers))
		held = calls_hit(tracer, task, breakpoint, &registers) || task->meets_new_code;
	task->meets_new_code = false;
	tracer_follow(tracer, task);
	if (step_over(task, &registers, &status))
		task_changed(tracer, task->tid, status);
	else if (held)
		task_hold(tracer, task);
	else
		task_continue(task, 0);
}

static bool is_stop_signal(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static void go_on(struct task *task, int signal, bool listens)
{
	if (listens)
		ptrace(PTRACE_LISTEN, task->tid, NULL, NULL);
	else
		task_continue(task, signal);
}

/* The thread was stopped by job control or by us, or is new. */
static void stopped(struct tracer *tracer, struct task *task, int signal)
{
	bool listens = is_stop_signal(signal);

	(void)tracer;
	if (task->owner->frozen) {
		task->state = TASK_FROZEN;
		task->listens = listens;
		task->signal = 0;
		return;
	}
	go_on(task, 0, listens);
}

static void signalled(struct tracer *tracer, struct task *task, int signal)
{
	if (signal == SIGTRAP) {
		trapped(tracer, task);
	} else if (task->owner->frozen) {
		task->state = TASK_FROZEN;
		task->listens = false;
		task->signal = signal;
	} else {
		task_continue(task, signal);
	}
}

/*
 * Returns true if the thread has hit a breakpoint but will report it after this stop. The kernel
 * reports interrupts before signals.
 */
static bool is_trap_pending(const struct task *task)
{
	struct __ptrace_peeksiginfo_args from = {.nr = 1};
	siginfo_t info;

	while (ptrace(PTRACE_PEEKSIGINFO, task->tid, &from, &info) == 1) {
		if (info.si_signo == SIGTRAP && is_of_breakpoint(task, &info))
			return true;
		from.off++;
	}
	return false;
}

/* Detaches from a thread that stops. If it has just hit a breakpoint, which is already removed, it
 * is set back to the instruction. */
static void leave(struct tracer *tracer, struct task *task, int status)
{
	struct arch_registers registers;
	int signal = EVENT_OF(status) ? 0 : WSTOPSIG(status);

	if (EVENT_OF(status) && is_trap_pending(task)) {
		task->leaves = true;
		task_continue(task, 0);
		return;
	}
	if (signal == SIGTRAP && is_trap_of_breakpoint(task) && task->owner &&
	    !task_registers_get(task->tid, &registers) && restart_if_removed(task, &registers))
		signal = 0;
	task_let_go(tracer, task, signal);
}

static void task_stopped(struct tracer *tracer, struct task *task, int status)
{
	int event = EVENT_OF(status);

	if (!task->owner) {
		task->state = TASK_UNANNOUNCED;
		task->unannounced_ns = clock_now_ns();
		tracer->has_unannounced = true;
		return;
	}
	if ((task->leaves || tracer->detaches) && !task_has_child(event)) {
		leave(tracer, task, status);
		return;
	}
	if (event == PTRACE_EVENT_STOP)
		stopped(tracer, task, WSTOPSIG(status));
	else if (event == PTRACE_EVENT_EXIT)
		exit_hold_thread(tracer, task);
	else if (event)
		task_event(tracer, task, event);
	else
		signalled(tracer, task, WSTOPSIG(status));
}

/*
 * Exits.
 */

static void thread_gone(struct tracer *tracer, struct task *task)
{
	struct record_head record = {.kind = RECORD_THREAD_GONE, .length = sizeof(record)};

	record.tid = (uint32_t)task->tid;
	tracer_write_record(tracer, task->owner, &record);
}

static void task_ended(struct tracer *tracer, struct task *task, int status)
{
	struct owner *owner = task->owner;

	if (owner && !owner->bystander && owner->tasks > 1 && task->tid != owner->pid)
		thread_gone(tracer, task);
	if (owner && task->state == TASK_RUNS)
		owner->unseen = true;
	task_remove(tracer, task);
	if (!owner)
		return;
	if (owner->tasks) {
		exit_hold_thread_gone(tracer, owner);
		return;
	}
	owner_gone(tracer, owner, RECORD_EXIT, status);
	owner_remove(tracer, owner);
}

void task_changed(struct tracer *tracer, pid_t tid, int status)
{
	struct task *task = task_find(tracer, tid);

	if (!task && WIFSTOPPED(status) && task_new(tracer, tid, NULL, NULL, &task)) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL); /* no memory */
		return;
	}
	if (!task)
		return;
	if (WIFSTOPPED(status))
		task_stopped(tracer, task, status);
	else
		task_ended(tracer, task, status);
}

/*
 * All threads of a process.
 */

static void forget_tasks(struct tracer *tracer, const struct owner *owner)
{
	for (size_t i = tracer->tasks.count; i--;)
		if (tracer->tasks.items[i]->owner == owner)
			task_remove(tracer, tracer->tasks.items[i]);
}

/* Adds a process whose threads have been seized. */
static int take_seized(struct tracer *tracer, const struct seizure *seizure)
{
	const struct seized_thread *thread;
	struct owner *owner;
	struct task *task;
	int code = owner_new(tracer, seizure->pid, NULL, &owner);

	if (code)
		return code;
	vec_each (thread, &seizure->threads)
		if (!code)
			code = task_new(tracer, thread->tid, owner, NULL, &task);
	if (!code)
		code = space_open(&owner->memory, seizure->threads.items[0].tid);
	if (!code) {
		owner_read_image(owner);
		foreign_uprobes_start(owner);
		return 0;
	}
	forget_tasks(tracer, owner);
	owner_remove(tracer, owner);
	return code;
}

int tasks_seize(struct tracer *tracer, pid_t pid)
{
	uintptr_t options = OPTIONS | (tracer->config.holds_exits ? PTRACE_O_TRACEEXIT : 0);
	const struct seized_thread *thread;
	struct seizure seizure;
	struct error err;
	int code = seize(&seizure, pid, options, &err);

	if (code)
		return code;
	code = take_seized(tracer, &seizure);
	if (code) {
		seize_undo(&seizure);
		return code;
	}
	vec_each (thread, &seizure.threads)
		if (thread->stopped)
			task_changed(tracer, thread->tid, W_STOPCODE(thread->status));
	seize_free(&seizure);
	return 0;
}

/* Returns true if it cannot be on its way into a breakpoint. */
static bool sleeps(const struct task *task)
{
	return tracee_call(task->owner->pid, task->tid) >= 0;
}

static void task_leave(struct tracer *tracer, struct task *task)
{
	task->leaves = true;
	if (task->state == TASK_RUNS)
		ptrace(PTRACE_INTERRUPT, task->tid, NULL, NULL);
	else if (task->listens)
		task->leaves = false; /* stopped by job control: detached when we exit */
	else
		task_let_go(tracer, task, task->signal);
}

void owner_leave(struct tracer *tracer, struct owner *owner)
{
	breakpoints_remove(owner->memory);
	for (size_t i = tracer->tasks.count; i--;)
		if (tracer->tasks.items[i]->owner == owner)
			task_leave(tracer, tracer->tasks.items[i]);
}

void tasks_leave(struct tracer *tracer)
{
	struct owner *const *owner;

	tracer->detaches = true;
	vec_each (owner, &tracer->owners)
		breakpoints_remove((*owner)->memory);
	for (size_t i = tracer->tasks.count; i--;) {
		struct task *task = tracer->tasks.items[i];

		if (task->owner && (task->state != TASK_RUNS || !sleeps(task)))
			task_leave(tracer, task);
	}
}

bool tasks_remain(const struct tracer *tracer)
{
	struct task *const *task;

	vec_each (task, &tracer->tasks)
		if ((*task)->leaves || (*task)->state == TASK_UNANNOUNCED)
			return true;
	return false;
}

void owner_freeze(struct tracer *tracer, struct owner *owner)
{
	struct task *const *task;

	owner->frozen = true;
	vec_each (task, &tracer->tasks)
		if ((*task)->owner == owner && (*task)->state == TASK_RUNS)
			ptrace(PTRACE_INTERRUPT, (*task)->tid, NULL, NULL);
}

bool owner_is_stopped(const struct tracer *tracer, const struct owner *owner)
{
	return !owner_has(tracer, owner, TASK_RUNS);
}

void owner_thaw(struct tracer *tracer, struct owner *owner)
{
	struct task *const *task;

	owner->frozen = false;
	vec_each (task, &tracer->tasks)
		if ((*task)->owner == owner && (*task)->state == TASK_FROZEN)
			go_on(*task, (*task)->signal, (*task)->listens);
}
