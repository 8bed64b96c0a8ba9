/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions that are not emulated run as a copy, in code that is no longer executed: at the
 * entry point of the dynamic linker or, in a static program, of the program. The copy is only there
 * for one step: the tracer process waits for it, then restores the code.
 */
#include "source/ptrace/breakpoint/step.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "source/ptrace/breakpoint/registers.h"
#include "source/ptrace/breakpoint/space.h"

static void wait_for(pid_t tid, int *ret_status)
{
	while (waitpid(tid, ret_status, __WALL) < 0)
		if (errno != EINTR) {
			*ret_status = SIGKILL; /* as if it was killed */
			return;
		}
}

/* Runs only the copy: by a single step, or up to the breakpoint after it. */
static int go(const struct task *task, const struct arch *arch)
{
	return (int)ptrace(arch->steps ? PTRACE_SINGLESTEP : PTRACE_CONT, task->tid, NULL, NULL);
}

/* Returns true if the copy has run, rather than another SIGTRAP having come first. */
static bool has_run(const struct arch_copy *copy, const struct arch_registers *registers)
{
	return !copy->size || arch_get(registers, ARCH_IP) != copy->slot;
}

/* One step of the copy. */
static int step_copy(struct task *task, const struct arch_copy *copy,
		     struct arch_registers *registers, int *ret_status)
{
	bool ran;

	*ret_status = SIGKILL;
	if (task_registers_set(task->tid, registers) || go(task, registers->arch))
		return -1;
	wait_for(task->tid, ret_status);
	if (!WIFSTOPPED(*ret_status) || task_registers_get(task->tid, registers))
		return -1;
	ran = has_run(copy, registers);
	registers->arch->copy_end(copy, registers);
	task_registers_set(task->tid, registers);
	return *ret_status >> 8 == SIGTRAP && ran ? 0 : -1;
}

/* Repeats for string instructions, which single-step one iteration at a time. */
static int run_copy(struct task *task, struct arch_registers *registers,
		    const uint8_t code[ARCH_CODE_MAX], int *ret_status)
{
	struct space *memory = task->owner->memory;
	uint64_t ip = arch_get(registers, ARCH_IP);
	uint8_t saved[ARCH_CODE_MAX];
	struct arch_copy copy;
	int err;

	if (space_read(memory, memory->slot, saved, sizeof(saved)))
		return -1;
	do {
		registers->arch->copy_begin(&copy, registers, code, memory->slot);
		err = space_write(memory, memory->slot, copy.code, sizeof(copy.code));
		if (!err)
			err = step_copy(task, &copy, registers, ret_status);
	} while (!err && arch_get(registers, ARCH_IP) == ip);
	space_write(memory, memory->slot, saved, sizeof(saved));
	return err;
}

static bool is_same(const struct arch_registers *one, const struct arch_registers *other)
{
	uint8_t sets[2][ARCH_SET_MAX] = {{0}, {0}};

	one->arch->store(one, sets[0]);
	other->arch->store(other, sets[1]);
	return !memcmp(sets[0], sets[1], one->arch->set_size);
}

static void registers_change(pid_t tid, const struct arch_registers *before,
			     const struct arch_registers *registers)
{
	struct arch_registers moved = *before;

	arch_set_ip(&moved, arch_get(registers, ARCH_IP));
	if (is_same(&moved, registers))
		task_registers_set_ip(tid, registers);
	else
		task_registers_set(tid, registers);
}

int step_over(struct task *task, struct arch_registers *registers, int *ret_status)
{
	const struct arch_memory memory = space_as_memory(task->owner->memory);
	const struct arch_registers before = *registers;
	uint64_t ip = arch_get(registers, ARCH_IP);
	const struct breakpoint *breakpoint = breakpoint_find(task->owner->memory, ip);
	uint8_t code[ARCH_CODE_MAX];

	memcpy(code, breakpoint->code, sizeof(code));
	task->done_ip = 0;
	if (!registers->arch->emulate(registers, code, &memory)) {
		registers_change(task->tid, &before, registers);
		return 0;
	}
	*ret_status = SIGKILL;
	if (!run_copy(task, registers, code, ret_status))
		return 0;
	if (arch_get(registers, ARCH_IP) == ip) {
		task->done_ip = ip;
		task->done_sp = arch_get(&before, ARCH_SP);
	}
	return -1;
}
