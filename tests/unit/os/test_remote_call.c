/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls in the threads of real children, which check their own registers, and what happens
 * if somebody dies meanwhile. For threads that wait in system calls, see test_remote_signals.c.
 */
#if defined(__x86_64__)

#include "tests/unit/os/remote_child.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>

#include "os/process/procfs.h"
#include "tests/unit/sweep.h"

/* Registers. */

static void test_registers_are_restored(void **state)
{
	pid_t pid = start(spin_with_registers);
	struct job job = job_for(pid);

	(void)state;
	job.same = true;
	for (int i = 0; i < ROUNDS; i++) {
		await_count();
		assert_int_equal(run_job(&job), 0);
	}
	await_count();
	end(pid);
}

/* Only 200 bytes of stack are left, and it has no page below. */
static void spin_on_small_stack(void)
{
	char *stack = mmap(NULL, 3 * BOARD_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(stack + BOARD_SIZE, BOARD_SIZE, PROT_READ | PROT_WRITE);
	__asm__ volatile("mov %0, %%rsp\n jmp *%1\n"
			 :
			 : "r"(stack + BOARD_SIZE + 200), "r"(spin_with_registers));
}

/* The child checks its registers and its stack all the time, before and after the call. */
static void check_nothing_changes(void (*child)(void))
{
	pid_t pid = start(child);
	struct job job = job_for(pid);

	job.same = true;
	await_count();
	assert_int_equal(run_job(&job), 0);
	await_count();
	end(pid);
}

static void test_stack_is_not_touched(void **state)
{
	(void)state;
	check_nothing_changes(spin_on_small_stack);
}

static void handle_on_other_stack(int signal_number)
{
	(void)signal_number;
	spin_with_registers();
}

static void spin_in_handler(void)
{
	static char memory[64 * 1024];
	const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	struct sigaction action = {.sa_handler = handle_on_other_stack, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static void test_handler_on_alternate_stack(void **state)
{
	(void)state;
	check_nothing_changes(spin_in_handler);
}

/* Restartable sequences. */

#if __GLIBC_PREREQ(2, 35)
#include <sys/rseq.h>

/* Spins in a sequence. The kernel clears the pointer to it only when it aborts it. */
static void spin_in_sequence(void)
{
	char *rseq = (char *)__builtin_thread_pointer() + __rseq_offset;

	__asm__ volatile(".pushsection .data.rel.rseq_cs,\"aw\"\n .balign 32\n"
			 "9: .long 0, 0\n .quad 1f, 2f-1f, 4f\n .popsection\n"
			 "0: lea 9b(%%rip), %%rax\n mov %%rax, 8(%[rseq])\n"
			 "1: cmpq $0, 8(%[rseq])\n je 5f\n incq %[count]\n jmp 1b\n"
			 "2: jmp 2b\n"
			 ".byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n"
			 "4: incq %[aborts]\n jmp 0b\n"
			 "5: incq %[errors]\n 6: pause\n jmp 6b\n"
			 : [count] "+m"(board->count), [aborts] "+m"(board->aborts),
			   [errors] "+m"(board->errors)
			 : [rseq] "r"(rseq)
			 : "rax", "memory");
}

static void test_sequence_is_aborted(void **state)
{
	pid_t pid;
	struct job job;

	(void)state;
	if (!__rseq_size) {
		print_message("skipped: the C library has not registered rseq\n");
		skip();
	}
	pid = start(spin_in_sequence);
	job = job_for(pid);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t aborts;

		await_count();
		aborts = board->aborts;
		assert_int_equal(run_job(&job), 0);
		await_count();
		assert_true(board->aborts > aborts);
	}
	end(pid);
}
#endif

/* Mappings. */

static int map_area(struct freeze *freeze, void *context)
{
	struct job *job = context;
	struct remote_thread remote;
	int code = remote_thread_open(&remote, job->pid, job->pid, freeze_status(freeze, 0),
				      job->syscall, NULL);

	return code ? code : remote_mmap(&remote, &area, &job->keep);
}

/* Doubles numbers that it finds at an address that it is given. */
static void use_mapping(void)
{
	while (!board->go)
		board->count++;
	*(volatile uint64_t *)(uintptr_t)board->aborts = 4711;
	board->count = *(volatile uint64_t *)(uintptr_t)board->aborts * 2;
}

static void test_mapping_is_usable(void **state)
{
	pid_t pid = start(use_mapping);
	struct job job = job_for(pid);
	struct freeze *freeze;
	int status;

	(void)state;
	await_count();
	assert_int_equal(freeze_stop(&freeze, pid, NULL), 0);
	assert_int_equal(freeze_run(freeze, map_area, &job), 0);
	freeze_release(freeze);
	board->aborts = job.keep;
	board->go = 1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(board->count, 2 * 4711);
}

/* Deaths. */

static int death_step;
static pid_t victim;

static void kill_victim(int step)
{
	if (step == death_step)
		kill(victim, SIGKILL);
}

/* The process is killed at each step. */
static void test_killed_process(void **state)
{
	bool reached = true;

	(void)state;
	for (death_step = 0; reached; death_step += (int)sweep_step(5)) {
		pid_t pid = start(spin_with_registers);
		struct job job = job_for(pid);
		int code;

		victim = pid;
		await_count();
		job.at_step = kill_victim;
		code = run_job(&job);
		reached = steps > death_step;
		assert_true(code == -ESRCH || (!code && steps <= death_step + 1));
		end(pid);
	}
	assert_true(death_step > 4 * 20);
}

static void kill_self(int step)
{
	if (step == death_step)
		kill(getpid(), SIGKILL);
}

/* One system call; the tracer is killed at a step of it. Returns true if the step was reached. */
static int map_and_die(struct freeze *freeze, void *context)
{
	struct job *job = context;
	struct remote_thread remote;
	int code = remote_thread_open(&remote, job->pid, job->pid, freeze_status(freeze, 0),
				      job->syscall, NULL);

	steps = 0;
	at_step = kill_self;
	return code ? code : remote_mmap(&remote, &area, &job->keep);
}

static bool trace_and_die(struct job *job)
{
	pid_t tracer = fork();
	struct freeze *freeze;
	int status;

	if (!tracer) {
		if (freeze_stop(&freeze, job->pid, NULL) || freeze_run(freeze, map_and_die, job))
			_exit(1);
		at_step = NULL;
		freeze_release(freeze);
		_exit(0);
	}
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
	return status != 0;
}

static bool blocks_signals(pid_t pid)
{
	static const char key[] = "\nSigBlk:";
	char *text;
	size_t size;
	bool blocks;

	assert_int_equal(procfs_read(pid, "status", &text, &size), 0);
	blocks = strtoull(strstr(text, key) + strlen(key), NULL, 16);
	free(text);
	return blocks;
}

enum fate { UNHARMED, BLOCKS_SIGNALS, KILLED };

/* The trap of hlt. A tracer that dies before it has waited for a system call stop leaves SIGTRAP.
 */
static bool is_trap_signal(int signal_number)
{
	return signal_number == SIGSEGV || signal_number == SIGTRAP;
}

/* Waits until the process continues or has exited. */
static enum fate await_fate(pid_t pid)
{
	uint64_t before = board->count;
	int status;

	while (board->count < before + 2)
		if (waitpid(pid, &status, WNOHANG) == pid) {
			assert_true(WIFSIGNALED(status) && is_trap_signal(WTERMSIG(status)));
			return KILLED;
		}
	return blocks_signals(pid) ? BLOCKS_SIGNALS : UNHARMED;
}

/* The child is a fork of this process, so its code is at the same address. */
static bool traps_after_call(const struct job *job)
{
	const uint8_t *tail = (const uint8_t *)(uintptr_t)job->syscall + 2;

	return tail[0] == 0xf4 || tail[8] == 0xf4; /* hlt, or hlt after glibc's check for errors */
}

/* What the header promises: harmless at the beginning and the end, signals blocked next to that,
 * and in the middle death rather than going on in the wrong place. */
static void test_killed_tracer(void **state)
{
	static const enum fate expected[] = {UNHARMED, BLOCKS_SIGNALS, KILLED, BLOCKS_SIGNALS,
					     UNHARMED};
	size_t phase = 0;
	bool reached = true;

	(void)state;
	for (death_step = 0; reached; death_step++) {
		pid_t pid = start(spin_with_registers);
		struct job job = job_for(pid);
		enum fate fate;

		if (!traps_after_call(&job)) {
			end(pid);
			print_message("skipped: no system call of the C library is followed by a "
				      "trap\n");
			skip();
		}
		await_count();
		reached = trace_and_die(&job);
		fate = await_fate(pid);
		if (fate != KILLED)
			end(pid);
		if (fate != expected[phase])
			assert_int_equal(fate, expected[++phase]);
	}
	assert_int_equal(phase, 4);
}

/* Refusals. */

static void filter_calls(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	board->errors = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
	for (;;)
		board->count++;
}

#define SWITCH_TO_32BIT 0x23 /* __USER32_CS */

/* Executes 32-bit code in a page below 4 GiB: incl %eax; jmp. */
static void execute_32bit_code(void)
{
	static const uint8_t code[] = {0x40, 0xeb, 0xfd};
	char *page = mmap(NULL, BOARD_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct {
		uint32_t offset;
		uint16_t selector;
	} __attribute__((packed)) target = {(uint32_t)(uintptr_t)page, SWITCH_TO_32BIT};

	memcpy(page, code, sizeof(code));
	board->count = 2;
	__asm__ volatile("ljmp *%0\n" : : "m"(target));
}

static void dispatch_calls(void)
{
	static char selector;

	board->errors =
		prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector) != 0;
	for (;;)
		board->count++;
}

static int try_open(struct freeze *freeze, void *context)
{
	struct job *job = context;
	struct remote_thread remote;

	return remote_thread_open(&remote, job->pid, job->pid, freeze_status(freeze, 0),
				  job->syscall, NULL);
}

static void expect_refusal(void (*run)(void), uint64_t offset, int expected)
{
	pid_t pid = start(run);
	struct freeze *freeze;
	struct job job = job_for(pid);

	while (board->count < 2)
		sched_yield();
	job.syscall += offset;
	assert_int_equal(freeze_stop(&freeze, pid, NULL), 0);
	assert_int_equal(freeze_run(freeze, try_open, &job), expected);
	freeze_release(freeze);
	end(pid);
}

static void test_refusals(void **state)
{
	(void)state;
	expect_refusal(filter_calls, 0, -EPERM);
	expect_refusal(dispatch_calls, 0, -EPERM);
	expect_refusal(spin_with_registers, 1, -ENOEXEC);
	expect_refusal(spin_with_registers, 0, 0);
	expect_refusal(execute_32bit_code, 0, -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers_are_restored),
		cmocka_unit_test(test_stack_is_not_touched),
		cmocka_unit_test(test_handler_on_alternate_stack),
#if __GLIBC_PREREQ(2, 35)
		cmocka_unit_test(test_sequence_is_aborted),
#endif
		cmocka_unit_test(test_mapping_is_usable),
		cmocka_unit_test(test_killed_process),
		cmocka_unit_test(test_killed_tracer),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/ptrace/remote_call.h"

static void test_other_architectures_are_refused(void **state)
{
	uint64_t address;

	(void)state;
	assert_true(remote_find_syscall(1, &address) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_architectures_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
