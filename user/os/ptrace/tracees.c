// SPDX-License-Identifier: GPL-2.0-or-later
#include "os/ptrace/tracees.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "os/process/procfs.h"

#define OPTIONS  ((uintptr_t)PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)
#define CHILDREN ((uintptr_t)PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)

struct tracee *tracees_find(const struct tracees *tracees, pid_t tid)
{
	uint32_t i = map64_get(&tracees->index, (uint64_t)tid);

	return i == MAP64_NONE ? NULL : &tracees->list.items[i];
}

int tracees_add(struct tracees *tracees, pid_t tid)
{
	struct tracee *known = tracees_find(tracees, tid);
	struct tracee tracee = {.tid = tid, .state = TRACEE_RUNS};

	if (known) {
		*known = tracee;
		return 0;
	}
	if (vec_push(&tracees->list, tracee))
		return -ENOMEM;
	return map64_set(&tracees->index, (uint64_t)tid, (uint32_t)tracees->list.count - 1);
}

/* Moves the last entry to the place of the removed one. */
void tracees_remove(struct tracees *tracees, pid_t tid)
{
	uint32_t i = map64_get(&tracees->index, (uint64_t)tid);
	uint32_t last = (uint32_t)tracees->list.count - 1;

	if (i == MAP64_NONE)
		return;
	tracees->list.items[i] = tracees->list.items[last];
	tracees->list.count = last;
	if (i < last)
		(void)map64_set(&tracees->index, (uint64_t)tracees->list.items[i].tid, i);
	map64_delete(&tracees->index, (uint64_t)tid);
}

void tracees_exited(struct tracees *tracees, pid_t tid)
{
	const struct tracee *tracee = tracees_find(tracees, tid);

	if (tracee && tracee->state == TRACEE_RUNS)
		tracees->unseen = true;
	tracees_remove(tracees, tid);
}

bool tracees_any(const struct tracees *tracees, enum tracee_state state)
{
	const struct tracee *tracee;

	vec_each (tracee, &tracees->list)
		if (tracee->state == state)
			return true;
	return false;
}

bool tracees_owns(const struct tracees *tracees, pid_t tid)
{
	char name[64], path[PROCFS_PATH_SIZE];

	snprintf(name, sizeof(name), "task/%d", (int)tid);
	procfs_path(path, tracees->pid, name);
	return !access(path, F_OK);
}

static bool has_stopped(const struct tracee *tracee)
{
	return tracee->state != TRACEE_RUNS && tracee->state != TRACEE_GONE;
}

void tracee_resume(struct tracee *tracee)
{
	bool exits = tracee->state == TRACEE_EXITING || tracee->state == TRACEE_HELD;

	if (tracee->listen)
		ptrace(PTRACE_LISTEN, tracee->tid, NULL, NULL);
	else
		ptrace(PTRACE_CONT, tracee->tid, NULL, (void *)(intptr_t)tracee->signal);
	tracee->state = exits ? TRACEE_GONE : TRACEE_RUNS;
	tracee->signal = 0;
	tracee->listen = false;
}

void tracees_resume(struct tracees *tracees)
{
	struct tracee *tracee;

	vec_each (tracee, &tracees->list)
		if (has_stopped(tracee))
			tracee_resume(tracee);
}

void tracees_detach(struct tracees *tracees)
{
	const struct tracee *tracee;

	vec_each (tracee, &tracees->list)
		if (has_stopped(tracee))
			ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(intptr_t)tracee->signal);
}

void tracees_free(struct tracees *tracees)
{
	vec_free(&tracees->list);
	map64_free(&tracees->index);
}

int tracees_seize(struct tracees *tracees, struct seizure *ret_seizure, struct error *err)
{
	int code = seize(ret_seizure, tracees->pid, tracees->family ? OPTIONS | CHILDREN : OPTIONS,
			 err);
	const struct seized_thread *thread;

	if (code)
		return code;
	vec_each (thread, &ret_seizure->threads)
		if (!code)
			code = tracees_add(tracees, thread->tid);
	if (!code)
		return 0;
	seize_undo(ret_seizure);
	return error_set_errno(err, code, "cannot watch %d", (int)tracees->pid);
}

void tracee_set_free(struct tracee_set *set)
{
	struct thread_registers *registers;

	vec_each (registers, &set->registers)
		tracee_free_registers(registers);
	vec_free(&set->registers);
}

int tracees_read(const struct tracees *tracees, struct tracee_set *set)
{
	const struct tracee *tracee;

	tracee_set_free(set);
	vec_each (tracee, &tracees->list) {
		struct thread_registers registers = {.tid = tracee->tid};

		if (!has_stopped(tracee))
			continue;
		if (vec_reserve(&set->registers, set->registers.count + 1))
			return -ENOMEM;
		tracee_read_registers(&registers);
		set->registers.items[set->registers.count++] = registers;
	}
	if (tracees->unseen)
		return vec_push(&set->registers, (struct thread_registers){0}) ? -ENOMEM : 0;
	return 0;
}
