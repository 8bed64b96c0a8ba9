// SPDX-License-Identifier: GPL-2.0-or-later
#include "os/ptrace/tracee.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <time.h>

#include "arch/registers.h"
#include "os/process/procfs.h"

#if defined(__x86_64__) || defined(__i386__)
#include <asm/ldt.h>
#endif
#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

#define REGISTERS_MAX (16 * 1024) /* bytes of one register set; 11 KiB with AMX */
#define SETTLE_NS     200000
#define SETTLE_TRIES  20

/* A thread that was interrupted may not have stopped quite yet; then the call fails with ESRCH for
 * a moment. */
static int get_set(pid_t tid, uintptr_t type, struct iovec *set)
{
	const struct timespec nap = {.tv_nsec = SETTLE_NS};
	int tries = SETTLE_TRIES;

	while (ptrace(PTRACE_GETREGSET, tid, (void *)type, set)) {
		if (errno != ESRCH || !tries-- || tracee_is_dead(tid, tid))
			return -errno;
		nanosleep(&nap, NULL);
	}
	return 0;
}

static void read_set(struct thread_registers *registers, uintptr_t type)
{
	char buffer[REGISTERS_MAX];
	struct iovec set = {.iov_base = buffer, .iov_len = sizeof(buffer)};
	char *grown;

	if (get_set(registers->tid, type, &set))
		return;
	grown = realloc(registers->bytes, registers->size + set.iov_len + 7);
	if (!grown)
		return;
	memcpy(grown + registers->size, buffer, set.iov_len);
	registers->bytes = grown;
	registers->size += set.iov_len;
}

/* For threads whose general registers do not include the thread pointer: asks the kernel. Returns 0
 * if it is unknown. */
#if defined(__x86_64__) || defined(__i386__)
#define GS_OFFSET 40 /* in user_regs_struct32 */

/* i386: %gs selects a segment that begins at the thread control block (set_thread_area(2)). */
static uint64_t ask_thread_pointer(const struct thread_registers *registers)
{
	uint64_t selector = registers_word(registers->bytes, GS_OFFSET, registers->word) & 0xffff;
	struct user_desc segment = {0};

	if (!selector || ptrace(PTRACE_GET_THREAD_AREA, registers->tid,
				(void *)(uintptr_t)(selector >> 3), &segment))
		return 0;
	return segment.base_addr;
}
#elif defined(__arm__)
static uint64_t ask_thread_pointer(const struct thread_registers *registers)
{
	uint32_t pointer = 0;

	return ptrace(PTRACE_GET_THREAD_AREA, registers->tid, NULL, &pointer) ? 0 : pointer;
}
#elif defined(__aarch64__)
static uint64_t ask_thread_pointer(const struct thread_registers *registers)
{
	uint64_t pointer = 0;
	struct iovec set = {.iov_base = &pointer, .iov_len = sizeof(pointer)};

	return registers->word != sizeof(pointer) || get_set(registers->tid, NT_ARM_TLS, &set)
		       ? 0
		       : pointer;
}
#else
static uint64_t ask_thread_pointer(const struct thread_registers *registers)
{
	(void)registers;
	return 0;
}
#endif

static uint64_t read_thread_pointer(const struct thread_registers *registers,
				    const struct registers_layout *layout)
{
	uint64_t pointer;

	if (layout->thread == REGISTERS_NO_THREAD)
		return ask_thread_pointer(registers);
	pointer = registers_word(registers->bytes, layout->thread, layout->word);
	return pointer ? pointer - REGISTERS_THREAD_BIAS : 0;
}

/* Reads the general registers first: their size determines the layout. */
void tracee_read_registers(struct thread_registers *registers)
{
	const struct registers_layout *layout;

	registers->size = 0;
	read_set(registers, NT_PRSTATUS);
	if (!registers->size)
		return;
	layout = registers_layout_find(registers->size);
	if (layout) {
		registers->word = layout->word;
		registers->red_zone = layout->red_zone;
		registers->chunk = layout->chunk;
		registers->stack = registers_word(registers->bytes, layout->stack, layout->word);
		registers->thread = read_thread_pointer(registers, layout);
	}
	registers->size &= ~(size_t)7; /* an i386 set ends in half a word (a segment register) … */
#if defined(__x86_64__) || defined(__i386__)
	read_set(registers, NT_X86_XSTATE);
#elif defined(__arm__)
	read_set(registers, NT_ARM_VFP);
#else
	read_set(registers, NT_PRFPREG);
#endif
	registers->size &= ~(size_t)7; /* … and so does an ARM one (the state of the VFP) */
}

void tracee_free_registers(struct thread_registers *registers)
{
	free(registers->bytes);
	registers->bytes = NULL;
	registers->size = 0;
}

/* Reads a file of /proc/PID/task/TID. Returns NULL if that fails. */
static char *read_task(pid_t pid, pid_t tid, const char *file)
{
	char name[64];
	char *text;
	size_t size;

	snprintf(name, sizeof(name), "task/%d/%s", (int)tid, file);
	return procfs_read(pid, name, &text, &size) ? NULL : text;
}

/* Returns the number after "\nName:" in the thread's status; 0 if it has none or is gone. */
static int status_number(pid_t pid, pid_t tid, const char *key)
{
	char *text = read_task(pid, tid, "status");
	const char *found = text ? strstr(text, key) : NULL;
	int number = found ? atoi(found + strlen(key)) : 0;

	free(text);
	return number;
}

pid_t tracee_tracer(pid_t pid, pid_t tid)
{
	return status_number(pid, tid, "\nTracerPid:");
}

bool tracee_has_seccomp(pid_t pid, pid_t tid)
{
	return status_number(pid, tid, "\nSeccomp:") > 0;
}

/* Parses "tid (comm) state …". Returns '\0' if the thread is gone. */
static char state_of(pid_t pid, pid_t tid)
{
	char *text = read_task(pid, tid, "stat");
	const char *comm_end = text ? strrchr(text, ')') : NULL;
	char state = '\0';

	if (comm_end && comm_end[1])
		state = comm_end[2];
	free(text);
	return state;
}

bool tracee_is_dead(pid_t pid, pid_t tid)
{
	char state = state_of(pid, tid);

	return !state || state == 'Z' || state == 'X';
}

bool tracee_is_stopped(pid_t pid, pid_t tid)
{
	return state_of(pid, tid) == 't';
}

int tracee_refuse(pid_t pid, pid_t tid, int code, struct error *err)
{
	pid_t tracer = tracee_tracer(pid, tid);

	if (tracer > 0)
		return error_set(err, code,
				 "cannot stop %d: process %d already traces it (gdb, strace?)",
				 (int)pid, (int)tracer);
	return error_set_errno(err, code, "cannot stop thread %d of %d", (int)tid, (int)pid);
}

/* The file contains "nr argument…", or "-1 …" if the thread sleeps outside of a system call, or
 * "running". Returns false if the thread is running or gone. */
static bool sleeps_in(pid_t pid, pid_t tid, long *ret_call)
{
	char *text = read_task(pid, tid, "syscall"), *end = text;

	*ret_call = text ? strtol(text, &end, 10) : -1;
	free(text);
	return end != text;
}

long tracee_call(pid_t pid, pid_t tid)
{
	long call;

	return sleeps_in(pid, tid, &call) ? call : -1;
}

bool tracee_may_fork(pid_t pid, pid_t tid)
{
	long call;

	return !sleeps_in(pid, tid, &call) || registers_call_forks(call);
}
