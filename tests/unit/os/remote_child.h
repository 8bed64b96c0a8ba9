/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests that run system calls in children of theirs (os/ptrace/remote_call.h): a board that
 * parent and child share, and the calls, made in all threads of the child.
 *
 * This file replaces ptrace(). Each call of it is two steps, one before and one after it, at which
 * a test can send signals or kill somebody.
 */
#ifndef MTRACE_TESTS_REMOTE_CHILD_H
#define MTRACE_TESTS_REMOTE_CHILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/ptrace/freeze.h"
#include "os/ptrace/remote_call.h"
#include "os/ptrace/tracee.h"
#include "tests/unit/child.h"

#define ROUNDS     20
#define AREA_SIZE  8192
#define CALLS      9 /* threads of a child that waits in system calls */
#define BOARD_SIZE 4096

/* Shared memory of parent and children, at an address that assembler code knows. */
struct board {
	volatile uint32_t go;
	volatile uint32_t futex[2];
	volatile uint64_t count;
	volatile uint64_t errors;
	volatile uint64_t aborts;
	volatile uint64_t signals[CALLS];
	volatile uint64_t interrupts[CALLS];
	volatile pid_t tid[CALLS];
	volatile int ready;
};

static union {
	struct board board;
	char bytes[BOARD_SIZE];
} shared __attribute__((aligned(BOARD_SIZE), used));

static struct board *const board = &shared.board;

/* Steps. */

static void (*at_step)(int step);
static int steps;

static inline void take_step(void)
{
	if (at_step)
		at_step(steps++);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list list;
	pid_t pid;
	void *address, *data;
	long result;
	int code;

	va_start(list, request);
	pid = va_arg(list, pid_t);
	address = va_arg(list, void *);
	data = va_arg(list, void *);
	va_end(list);
	take_step();
	result = syscall(SYS_ptrace, request, pid, address, data);
	code = errno;
	take_step();
	errno = code;
	return result;
}

/* Children. */

static inline void fresh_board(void)
{
	void *at = mmap(&shared, sizeof(shared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	assert_ptr_equal(at, &shared);
	at_step = NULL;
	steps = 0;
}

static inline pid_t start(void (*run)(void))
{
	fresh_board();
	return child_start(run);
}

static inline void end(pid_t pid)
{
	child_kill(pid);
	assert_int_equal(board->errors, 0);
}

static inline void await_count(void)
{
	uint64_t before = board->count;

	while (board->count < before + 2) {
		assert_int_equal(board->errors, 0);
		sched_yield();
	}
}

/* Tracing. */

struct job {
	pid_t pid;
	uint64_t syscall;
	int code;      /* of the first failure */
	uint64_t keep; /* an area that is left in the process */
	bool same;     /* expect equal registers after each call */
	void (*at_step)(int step);
};

static inline struct job job_for(pid_t pid)
{
	struct job job = {.pid = pid};

	assert_int_equal(remote_find_syscall(pid, &job.syscall), 0);
	return job;
}

static const struct remote_mapping area = {.size = AREA_SIZE,
					   .protection = PROT_READ | PROT_WRITE,
					   .flags = MAP_PRIVATE | MAP_ANONYMOUS,
					   .file = -1};

/* Maps, protects and unmaps an area; each call also has an error that must be returned. */
static inline int make_calls(struct remote_thread *remote)
{
	uint64_t address = 0;
	int code = remote_mmap(remote, &area, &address);

	if (!code)
		code = remote_mprotect(remote, address, AREA_SIZE / 2, PROT_READ);
	if (!code)
		code = remote_mprotect(remote, address + 1, AREA_SIZE, PROT_READ);
	if (code != -EINVAL)
		return code ? code : -ENOTRECOVERABLE;
	return remote_munmap(remote, address, AREA_SIZE);
}

static inline bool same_registers(const struct thread_registers *one,
				  const struct thread_registers *other)
{
	return one->size && one->size == other->size &&
	       !memcmp(one->bytes, other->bytes, one->size);
}

static inline int call_and_compare(const struct job *job, struct remote_thread *remote)
{
	struct thread_registers before = {.tid = remote->tid}, after = {.tid = remote->tid};
	int code;

	tracee_read_registers(&before);
	code = make_calls(remote);
	tracee_read_registers(&after);
	if (!code && job->same && !same_registers(&before, &after))
		code = -ENOTRECOVERABLE;
	tracee_free_registers(&before);
	tracee_free_registers(&after);
	return code;
}

static inline int run_in_thread(struct freeze *freeze, struct job *job, size_t i)
{
	struct remote_thread remote;
	size_t count;
	const struct thread_registers *threads = freeze_threads(freeze, &count);
	int code = remote_thread_open(&remote, job->pid, threads[i].tid, freeze_status(freeze, i),
				      job->syscall, NULL);

	if (code)
		return code;
	steps = 0;
	at_step = job->at_step;
	code = job->same ? call_and_compare(job, &remote) : make_calls(&remote);
	at_step = NULL;
	return code;
}

static inline int run_in_all(struct freeze *freeze, void *context)
{
	struct job *job = context;
	size_t count;

	freeze_threads(freeze, &count);
	job->code = 0;
	for (size_t i = 0; i < count && !job->code; i++)
		if (freeze_status(freeze, i))
			job->code = run_in_thread(freeze, job, i);
	return job->code;
}

static inline int run_job(struct job *job)
{
	struct freeze *freeze;
	int code = freeze_stop(&freeze, job->pid, NULL);

	if (code)
		return code;
	code = freeze_run(freeze, run_in_all, job);
	freeze_release(freeze);
	return code;
}

/* Fills all registers and a word in the red zone, and checks them for ever. */
__attribute__((naked, noreturn)) static void spin_with_registers(void)
{
	__asm__ volatile(
		"movl $0x5a5a5a5a, -64(%%rsp)\n"
		"mov $0x1001, %%eax\n mov $0x1002, %%ebx\n mov $0x1003, %%ecx\n"
		"mov $0x1004, %%edx\n mov $0x1005, %%esi\n mov $0x1006, %%edi\n"
		"mov $0x1007, %%ebp\n mov $0x1008, %%r8d\n mov $0x1009, %%r9d\n"
		"mov $0x100a, %%r10d\n mov $0x100b, %%r11d\n mov $0x100c, %%r12d\n"
		"mov $0x100d, %%r13d\n mov $0x100e, %%r14d\n mov $0x100f, %%r15d\n"
		"movq %%rbx, %%xmm0\n movq %%r15, %%xmm15\n"
		"1: cmp $0x1001, %%rax\n jne 2f\n cmp $0x1002, %%rbx\n jne 2f\n"
		"cmp $0x1003, %%rcx\n jne 2f\n cmp $0x1004, %%rdx\n jne 2f\n"
		"cmp $0x1005, %%rsi\n jne 2f\n cmp $0x1006, %%rdi\n jne 2f\n"
		"cmp $0x1007, %%rbp\n jne 2f\n cmp $0x1008, %%r8\n jne 2f\n"
		"cmp $0x1009, %%r9\n jne 2f\n cmp $0x100a, %%r10\n jne 2f\n"
		"cmp $0x100b, %%r11\n jne 2f\n cmp $0x100c, %%r12\n jne 2f\n"
		"cmp $0x100d, %%r13\n jne 2f\n cmp $0x100e, %%r14\n jne 2f\n"
		"cmp $0x100f, %%r15\n jne 2f\n cmpl $0x5a5a5a5a, -64(%%rsp)\n jne 2f\n"
		"movq %%xmm0, %%rax\n cmp $0x1002, %%rax\n jne 2f\n"
		"movq %%xmm15, %%rax\n cmp $0x100f, %%rax\n jne 2f\n"
		"mov $0x1001, %%eax\n"
		"incq shared+%c[count](%%rip)\n jmp 1b\n"
		"2: incq shared+%c[errors](%%rip)\n 3: pause\n jmp 3b\n"
		:
		: [count] "i"(offsetof(struct board, count)), [errors] "i"(offsetof(struct board,
										    errors)));
}

#endif
