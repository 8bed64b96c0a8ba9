// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The unwinder: each kind of row on a made-up stack; and real stacks of this process, which must
 * equal glibc's backtrace(), frame by frame up to _start.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "arch/unwind.h"
#include "symbol/cfi_table.h"

#define FRAME_MAX 127

/* Memory: a made-up stack, or this process's own. */

struct stack {
	uint64_t base; /* address of words[0] */
	uint64_t words[64];
	unsigned int word;
};

static int read_invented(const struct stack *stack, uint64_t address, uint64_t *ret_word)
{
	uint64_t index = (address - stack->base) / stack->word;

	if (address < stack->base || index >= 64)
		return -1;
	*ret_word = stack->words[index];
	return 0;
}

/* Uses the kernel, for which no address is poisoned or absent. */
static int read_own(uint64_t address, uint64_t *ret_word)
{
	struct iovec local = {ret_word, sizeof(*ret_word)};
	struct iovec remote = {(void *)(uintptr_t)address, sizeof(*ret_word)};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof(*ret_word) ? 0 : -1;
}

static int unwind_read(void *ctx, const struct unwind_abi *abi, abi_u64 address, abi_u64 *ret_word)
{
	(void)abi;
	return ctx ? read_invented(ctx, address, ret_word) : read_own(address, ret_word);
}

/*
 * The truth table.
 */

#define STACK   0x7000
#define WORD(n) (STACK + 8 * (n))

static const struct step {
	const char *name;
	struct unwind_row row;
	struct unwind_frame frame;
	enum unwind_result result;
	struct unwind_frame caller;
} steps[] = {
	{"from sp",
	 {.cfa_offset = 3, .kinds = UNWIND_KINDS(UNWIND_CFA_SP, UNWIND_BP_AT_CFA), .bp_offset = -2},
	 {.ip = 1, .sp = WORD(0), .bp = 5},
	 UNWIND_CONTINUE,
	 {.ip = 102, .sp = WORD(3), .bp = WORD(1), .bp_place = UNWIND_BP_IN_MEMORY}},
	{"from bp",
	 {.cfa_offset = 2, .kinds = UNWIND_KINDS(UNWIND_CFA_BP, UNWIND_BP_SAME)},
	 {.ip = 1, .sp = WORD(0), .bp = WORD(4)},
	 UNWIND_CONTINUE,
	 {.ip = 105, .sp = WORD(6), .bp = WORD(4)}},
	{"from a bp that was passed unread",
	 {.cfa_offset = 2, .kinds = UNWIND_KINDS(UNWIND_CFA_BP, UNWIND_BP_LOST)},
	 {.ip = 1, .sp = WORD(0), .bp = WORD(32), .bp_place = UNWIND_BP_IN_MEMORY},
	 UNWIND_CONTINUE,
	 {.ip = 121, .sp = WORD(22), .bp = WORD(20), .bp_place = UNWIND_BP_UNKNOWN}},
	{"from a bp that is lost",
	 {.cfa_offset = 2, .kinds = UNWIND_KINDS(UNWIND_CFA_BP, UNWIND_BP_SAME)},
	 {.ip = 1, .sp = WORD(0), .bp_place = UNWIND_BP_UNKNOWN},
	 UNWIND_NO_BP,
	 {.ip = 1, .sp = WORD(0), .bp_place = UNWIND_BP_UNKNOWN}},
	{"a realigned stack",
	 {.cfa_offset = -1, .kinds = UNWIND_KINDS(UNWIND_CFA_BP_LOAD, UNWIND_BP_AT_BP)},
	 {.ip = 1, .sp = WORD(0), .bp = WORD(33)},
	 UNWIND_CONTINUE,
	 {.ip = 119, .sp = WORD(20), .bp = WORD(33), .bp_place = UNWIND_BP_IN_MEMORY}},
	{"a saved sp, and a word",
	 {.cfa_offset = 32, .kinds = UNWIND_KINDS(UNWIND_CFA_SP_LOAD_WORD, UNWIND_BP_SAME)},
	 {.ip = 1, .sp = WORD(0), .bp = 5},
	 UNWIND_CONTINUE,
	 {.ip = 120, .sp = WORD(21), .bp = 5}},
	{"the first instructions of a PLT entry",
	 {.cfa_offset = 1, .kinds = UNWIND_CFA_PLT, .bp_offset = 11},
	 {.ip = 0x106, .sp = WORD(0), .bp = 5},
	 UNWIND_CONTINUE,
	 {.ip = 100, .sp = WORD(1), .bp = 5}},
	{"its last instruction, after a push",
	 {.cfa_offset = 1, .kinds = UNWIND_CFA_PLT, .bp_offset = 11},
	 {.ip = 0x10b, .sp = WORD(0), .bp = 5},
	 UNWIND_CONTINUE,
	 {.ip = 101, .sp = WORD(2), .bp = 5}},
	{"a signal frame",
	 {.cfa_offset = 32, .kinds = UNWIND_CFA_SIGNAL},
	 {.ip = 1, .sp = WORD(0), .bp = 5},
	 UNWIND_INTERRUPTED,
	 {.ip = WORD(40), .sp = WORD(20), .bp = WORD(27), .bp_place = UNWIND_BP_IN_MEMORY}},
	{"a signal frame that leads to a lower stack",
	 {.cfa_offset = 0, .kinds = UNWIND_CFA_SIGNAL},
	 {.ip = 1, .sp = WORD(32), .bp = 5},
	 UNWIND_INTERRUPTED,
	 {.ip = WORD(40), .sp = WORD(20), .bp = WORD(27), .bp_place = UNWIND_BP_IN_MEMORY}},
	{"the end",
	 {.kinds = UNWIND_CFA_END},
	 {.ip = 1, .sp = WORD(0)},
	 UNWIND_END,
	 {.ip = 1, .sp = WORD(0)}},
	{"a return address of 0",
	 {.cfa_offset = 36, .kinds = UNWIND_CFA_SP},
	 {.ip = 1, .sp = WORD(0)},
	 UNWIND_END,
	 {.ip = 1, .sp = WORD(0)}},
	{"no rule",
	 {.kinds = UNWIND_CFA_STOP},
	 {.ip = 1, .sp = WORD(0)},
	 UNWIND_NO_RULE,
	 {.ip = 1, .sp = WORD(0)}},
	{"no table",
	 {.kinds = UNWIND_CFA_GAP},
	 {.ip = 1, .sp = WORD(0)},
	 UNWIND_NO_TABLE,
	 {.ip = 1, .sp = WORD(0)}},
	{"beyond the stack",
	 {.cfa_offset = 1000, .kinds = UNWIND_CFA_SP},
	 {.ip = 1, .sp = WORD(0)},
	 UNWIND_UNREADABLE,
	 {.ip = 1, .sp = WORD(0)}},
	{"a frame that does not go up",
	 {.cfa_offset = 2, .kinds = UNWIND_CFA_BP},
	 {.ip = 1, .sp = WORD(6), .bp = WORD(4)},
	 UNWIND_NO_PROGRESS,
	 {.ip = 1, .sp = WORD(6), .bp = WORD(4)}},
};

/* Word n is 100 + n. Words from 32 on point into the stack; word 35 is 0. */
static void invent_stack(struct stack *stack)
{
	*stack = (struct stack){.base = STACK, .word = 8};
	for (unsigned int i = 0; i < 64; i++)
		stack->words[i] = 100 + i;
	stack->words[32] = WORD(20);
	stack->words[33] = WORD(40);
	stack->words[35] = 0;
}

static void test_step(void **state)
{
	struct stack stack;

	(void)state;
	invent_stack(&stack);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct step *step = &steps[i];
		struct unwind_frame frame = step->frame;
		enum unwind_result result =
			unwind_step(&stack, &unwind_abi_x86_64, &step->row, &frame);

		if (result != step->result || memcmp(&frame, &step->caller, sizeof(frame)))
			fail_msg("%s: result %d, ip %llx, sp %llx, bp %llx (%llu)", step->name,
				 result, (unsigned long long)frame.ip, (unsigned long long)frame.sp,
				 (unsigned long long)frame.bp, (unsigned long long)frame.bp_place);
	}
}

static void test_step_other_abis(void **state)
{
	struct unwind_frame frame = {.ip = 1, .sp = STACK};
	struct unwind_row row = {.cfa_offset = 4};
	struct stack stack;

	(void)state;
	invent_stack(&stack);
	stack.word = 4;
	assert_int_equal(unwind_step(&stack, &unwind_abi_i386, &row, &frame), UNWIND_CONTINUE);
	assert_int_equal(frame.ip, 103);
	assert_int_equal(frame.sp, STACK + 16);
}

static void test_find(void **state)
{
	static const struct unwind_row rows[] = {{.offset = 10}, {.offset = 20}, {.offset = 30}};

	(void)state;
	assert_null(unwind_find(rows, 0, 10));
	assert_null(unwind_find(rows, 3, 9));
	assert_ptr_equal(unwind_find(rows, 3, 10), &rows[0]);
	assert_ptr_equal(unwind_find(rows, 3, 19), &rows[0]);
	assert_ptr_equal(unwind_find(rows, 3, 20), &rows[1]);
	assert_ptr_equal(unwind_find(rows, 3, UINT32_MAX), &rows[2]);
}

#ifdef __x86_64__

/*
 * Real stacks.
 */

struct own_module {
	struct cfi_table full, pruned;
	const void *key; /* its program headers */
};

struct walk {
	struct own_module modules[32];
	size_t module_count;
	bool pruned; /* look up return addresses in the pruned tables */
	uint64_t address;
	uint64_t ips[FRAME_MAX];
	int count;
	enum unwind_result result;
	const struct unwind_row *row; /* found by find_in_module */
	bool exact;
};

static void build_tables(const struct dl_phdr_info *info, struct own_module *module)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(cfi_table_build(fd, true, &module->full, NULL), 0);
	assert_int_equal(cfi_table_build(fd, false, &module->pruned, NULL), 0);
	module->key = info->dlpi_phdr;
	close(fd);
}

static struct own_module *get_module(struct walk *walk, const struct dl_phdr_info *info)
{
	struct own_module *module = walk->modules;

	for (; module < walk->modules + walk->module_count; module++)
		if (module->key == info->dlpi_phdr)
			return module;
	assert_true(walk->module_count++ < 32);
	build_tables(info, module);
	return module;
}

static int find_in_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct walk *walk = ctx;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t skip = walk->address - info->dlpi_addr - header->p_vaddr;
		const struct own_module *module;

		if (header->p_type != PT_LOAD || skip >= header->p_memsz)
			continue;
		module = get_module(walk, info);
		walk->row = cfi_table_find(walk->exact || !walk->pruned ? &module->full
									: &module->pruned,
					   header->p_offset + skip);
		return 1;
	}
	return 0;
}

static const struct unwind_row *find_row(struct walk *walk, const struct unwind_frame *frame)
{
	walk->row = NULL;
	walk->address = frame->ip - !walk->exact;
	dl_iterate_phdr(find_in_module, walk);
	return walk->row;
}

/* Walks from an interrupted frame outwards. */
static void walk_stack(struct walk *walk, struct unwind_frame *frame)
{
	walk->exact = true;
	walk->count = 0;
	do {
		const struct unwind_row *row = find_row(walk, frame);

		walk->ips[walk->count++] = frame->ip;
		walk->result =
			row ? unwind_step(NULL, &unwind_abi_x86_64, row, frame) : UNWIND_NO_TABLE;
		walk->exact = walk->result == UNWIND_INTERRUPTED;
	} while (walk->count < FRAME_MAX &&
		 (walk->result == UNWIND_CONTINUE || walk->result == UNWIND_INTERRUPTED));
}

static struct walk own; /* signal handlers and qsort's callbacks have no spare argument */

/* AddressSanitizer adds a frame of its own between this function and backtrace(). */
#ifdef __SANITIZE_ADDRESS__
#define BACKTRACE_FRAMES 1
#else
#define BACKTRACE_FRAMES 0
#endif

/*
 * Takes the current frame, walks, and compares with backtrace(). The first addresses differ: they
 * are in the same function, but at different instructions.
 */
#define CHECK_STACK_HERE()                                                                 \
	do {                                                                               \
		struct unwind_frame here = {0};                                            \
		asm volatile("lea 0f(%%rip), %0\n0:\tmov %%rsp, %1\n\tmov %%rbp, %2"       \
			     : "=&r"(here.ip), "=&r"(here.sp), "=&r"(here.bp));            \
		void *expected[FRAME_MAX];                                                 \
		int count = backtrace(expected, FRAME_MAX);                                \
		check_stack(&here, expected + BACKTRACE_FRAMES, count - BACKTRACE_FRAMES); \
	} while (0)

static void check_stack(struct unwind_frame *here, void *const *expected, int count)
{
	for (int pruned = 0; pruned < 2; pruned++) {
		struct unwind_frame frame = *here;

		own.pruned = pruned;
		walk_stack(&own, &frame);
		assert_int_equal(own.result, UNWIND_END);
		assert_int_equal(own.count, count);
		assert_true(count >= 2);
		for (int i = 1; i < count; i++)
			assert_int_equal(own.ips[i], (uint64_t)(uintptr_t)expected[i]);
	}
}

static int checks;

static __attribute__((noinline)) int compare_numbers(const void *a, const void *b)
{
	if (checks++ == 0)
		CHECK_STACK_HERE();
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) int sort_numbers(int *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), compare_numbers);
	return numbers[0];
}

/* A frame of variable size: its CFA is computed from the frame pointer. */
static __attribute__((noinline)) int sort_copy(const int *numbers, size_t count)
{
	int copy[count];

	memcpy(copy, numbers, sizeof(copy));
	return sort_numbers(copy, count) + 1;
}

/* A realigned frame. */
static __attribute__((noinline)) int sort_aligned(const int *numbers, size_t count)
{
	_Alignas(64) int copy[16];

	memcpy(copy, numbers, count * sizeof(*copy));
	asm volatile("" : : "r"(copy) : "memory");
	return sort_copy(copy, count) + copy[1];
}

static void test_qsort(void **state)
{
	const int numbers[] = {3, 1, 2};

	(void)state;
	checks = 0;
	assert_int_equal(sort_aligned(numbers, 3), 3);
	assert_true(checks > 0);
}

static void handle_signal(int number)
{
	(void)number;
	checks++;
	CHECK_STACK_HERE();
}

static __attribute__((noinline)) int interrupt(int number)
{
	return raise(number) + 1;
}

static void check_signal(int flags)
{
	struct sigaction action = {.sa_handler = handle_signal, .sa_flags = flags}, old;

	checks = 0;
	assert_int_equal(sigaction(SIGUSR2, &action, &old), 0);
	assert_int_equal(interrupt(SIGUSR2), 1);
	assert_int_equal(sigaction(SIGUSR2, &old, NULL), 0);
	assert_int_equal(checks, 1);
}

static void test_signal(void **state)
{
	(void)state;
	check_signal(0);
}

/* The alternate stack is above or below the ordinary one. */
static void test_alternate_stack(void **state)
{
	size_t size = 1 << 20;
	stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
	stack_t off = {.ss_flags = SS_DISABLE};

	(void)state;
	assert_non_null(stack.ss_sp);
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	check_signal(SA_ONSTACK);
	assert_int_equal(sigaltstack(&off, NULL), 0);
	free(stack.ss_sp);
}

static void *run_thread(void *argument)
{
	CHECK_STACK_HERE();
	return argument;
}

static void test_thread(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, run_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static ucontext_t coroutine_caller;

static void run_coroutine(void)
{
	checks++;
	CHECK_STACK_HERE();
}

/* A coroutine's outermost function was never called, but is returned to. */
static void test_coroutine(void **state)
{
	size_t size = 1 << 20;
	ucontext_t coroutine;

	(void)state;
	checks = 0;
	assert_int_equal(getcontext(&coroutine), 0);
	coroutine.uc_stack.ss_sp = malloc(size);
	coroutine.uc_stack.ss_size = size;
	coroutine.uc_link = &coroutine_caller;
	assert_non_null(coroutine.uc_stack.ss_sp);
	makecontext(&coroutine, run_coroutine, 0);
	assert_int_equal(swapcontext(&coroutine_caller, &coroutine), 0);
	assert_int_equal(checks, 1);
	free(coroutine.uc_stack.ss_sp);
}

static int teardown(void **state)
{
	(void)state;
	while (own.module_count--) {
		cfi_table_free(&own.modules[own.module_count].full);
		cfi_table_free(&own.modules[own.module_count].pruned);
	}
	return 0;
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step),
		cmocka_unit_test(test_step_other_abis),
		cmocka_unit_test(test_find),
#ifdef __x86_64__
		cmocka_unit_test(test_qsort),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_alternate_stack),
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_coroutine),
#endif
	};

#ifdef __x86_64__
	return cmocka_run_group_tests(tests, NULL, teardown);
#else
	return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
