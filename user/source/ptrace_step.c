/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is not emulated runs as a copy, in code that nobody executes any more: where the dynamic
 * linker begins, or, in a static program, the program. It is there for one step only: the guardian
 * waits for it, and then the place is as it was.
 */
#include "source/ptrace_step.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static int read_memory(void *ctx, uint64_t address, void *bytes, size_t size)
{
	return space_read(ctx, address, bytes, size);
}

static int write_memory(void *ctx, uint64_t address, const void *bytes, size_t size)
{
	return space_write(ctx, address, bytes, size);
}

static void wait_for(pid_t tid, int *ret_status)
{
	while (waitpid(tid, ret_status, __WALL) < 0)
		if (errno != EINTR) {
			*ret_status = SIGKILL; /* as of one that was killed */
			return;
		}
}

/* One step of the copy. */
static int step_line(struct task *task, const struct x86_line *line,
		     struct x86_registers *registers, int *ret_status)
{
	*ret_status = SIGKILL;
	if (ptrace(PTRACE_SETREGS, task->tid, NULL, registers) ||
	    ptrace(PTRACE_SINGLESTEP, task->tid, NULL, NULL))
		return -1;
	wait_for(task->tid, ret_status);
	if (!WIFSTOPPED(*ret_status) || ptrace(PTRACE_GETREGS, task->tid, NULL, registers))
		return -1;
	x86_line_end(line, registers);
	ptrace(PTRACE_SETREGS, task->tid, NULL, registers);
	return *ret_status >> 8 == SIGTRAP ? 0 : -1;
}

/* A string instruction makes one of its steps at a time. */
static int run_line(struct task *task, struct x86_registers *registers,
		    const uint8_t code[X86_CODE_MAX], int *ret_status)
{
	struct space *memory = task->owner->memory;
	uint64_t ip = registers->ip;
	uint8_t saved[X86_CODE_MAX];
	struct x86_line line;
	int err;

	if (space_read(memory, memory->slot, saved, sizeof(saved)))
		return -1;
	do {
		x86_line_begin(&line, registers, code, memory->slot);
		err = space_write(memory, memory->slot, line.code, sizeof(line.code));
		if (!err)
			err = step_line(task, &line, registers, ret_status);
	} while (!err && registers->ip == ip);
	space_write(memory, memory->slot, saved, sizeof(saved));
	return err;
}

/* One word costs half of what all of them cost. */
static void registers_set(pid_t tid, const struct x86_registers *before,
			  struct x86_registers *registers)
{
	struct x86_registers moved = *before;

	moved.ip = registers->ip;
	if (memcmp(&moved, registers, sizeof(moved)))
		ptrace(PTRACE_SETREGS, tid, NULL, registers);
	else
		ptrace(PTRACE_POKEUSER, tid, offsetof(struct x86_registers, ip), registers->ip);
}

int step_over(struct task *task, struct x86_registers *registers, int *ret_status)
{
	const struct breakpoint *breakpoint = breakpoint_find(task->owner->memory, registers->ip);
	const struct x86_memory memory = {read_memory, write_memory, task->owner->memory};
	const struct x86_registers before = *registers;
	uint8_t code[X86_CODE_MAX];

	memcpy(code, breakpoint->code, sizeof(code));
	task->done_ip = 0;
	if (!x86_emulate(registers, code, &memory)) {
		registers_set(task->tid, &before, registers);
		return 0;
	}
	*ret_status = SIGKILL;
	if (!run_line(task, registers, code, ret_status))
		return 0;
	if (registers->ip == before.ip) {
		task->done_ip = before.ip;
		task->done_sp = before.sp;
	}
	return -1;
}
