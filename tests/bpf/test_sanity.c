/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which operator was it? Scripts of calls, jumps, exceptions and signals against the marks, on a
 * model of a stack: a call puts its return address on it, and return probes take its place, as the
 * kernel's own code does when they run.
 */
#include "tests/bpf/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define ALT_HIGH 0x31000u
#define GARBAGE  0xdeadu

/* Code, by its first address; each function is CODE_SIZE long. */
#define MAIN        0x401000u
#define HANDLER     0x402000u
#define OP_NEW      0x500000u
#define OP_NEW_ALL  0x500100u /* new[] */
#define OP_NEW_TRY  0x500200u /* nothrow new[] */
#define OP_DEL      0x500300u
#define OP_DEL_ALL  0x500400u
#define OP_DEL_SIZE 0x500500u
#define CODE_SIZE   0x40u
#define ALLOCATOR   3 /* which of several */
#define SITE        4 /* the probe is behind an endbr64 */

static struct machine {
	uint64_t words[(ALT_HIGH - STACK_LOW) / 8];
	uint64_t sp; /* of the function that runs: above the next return address */
	struct thread_marks marks;
	struct record_release release; /* the last one */
} machine;

static uint64_t *word_at(uint64_t address)
{
	assert_in_range(address, STACK_LOW, ALT_HIGH - 8);
	return &machine.words[(address - STACK_LOW) / 8];
}

static int read_user(uint64_t address, uint64_t *ret_word)
{
	*ret_word = *word_at(address);
	return 0;
}

static int is_return_list_full(void)
{
	return 0;
}

static int wants_sanity(void)
{
	return 1;
}

static struct thread_marks *thread_marks(void)
{
	return &machine.marks;
}

static struct thread_calls *exit_calls(void)
{
	return NULL;
}

static void emit(void *record, uint32_t length)
{
	assert_int_equal(length, sizeof(machine.release));
	memcpy(&machine.release, record, length);
}

static void count_loss(enum loss loss)
{
	fail_msg("loss %d", (int)loss);
}

static struct session_pending *session_newest(void)
{
	return NULL;
}

static struct session_pending *session_read(struct session_pending *pending, uint64_t *ret_sp,
					    uint64_t *ret_word)
{
	(void)pending;
	*ret_sp = *ret_word = 0;
	return NULL;
}

/* Words for scripts. */

static void start(void)
{
	memset(&machine, 0, sizeof(machine));
	machine.sp = STACK_HIGH - 0x100;
}

/* From code at `from`: its return address is on the stack. */
static void call_from(uint64_t from)
{
	machine.sp -= 8;
	*word_at(machine.sp) = from + 0x10;
}

static void frame(uint64_t bytes)
{
	machine.sp -= bytes;
}

static void ret(void)
{
	machine.sp += 8;
}

struct function {
	uint64_t code;
	enum api api;
	unsigned int encoded, aligned;
};

static const struct function op_new = {OP_NEW, API_NEW, 0, COOKIE_NO_ARG};
static const struct function op_new_aligned = {OP_NEW, API_NEW, 0, 1};
static const struct function op_new_all = {OP_NEW_ALL, API_NEW_ARRAY, 0, COOKIE_NO_ARG};
static const struct function op_new_try = {OP_NEW_TRY, API_NEW_ARRAY, 0, COOKIE_NO_ARG};
static const struct function op_del = {OP_DEL, API_DELETE, COOKIE_NO_ARG, COOKIE_NO_ARG};
static const struct function op_del_all = {OP_DEL_ALL, API_DELETE_ARRAY, COOKIE_NO_ARG,
					   COOKIE_NO_ARG};
static const struct function op_del_size = {OP_DEL_SIZE, API_DELETE, 1, 2};

/* Its probe; also where another function jumped to it. */
static void enter(const struct function *function, uint64_t first, uint64_t second, uint64_t third)
{
	struct pt_regs regs = {.di = first,
			       .si = second,
			       .dx = third,
			       .sp = machine.sp,
			       .ip = function->code + SITE};

	mark_enter(&machine.marks, &regs,
		   (uint64_t)function->api | function->encoded << 8 | function->aligned << 12 |
			   (uint64_t)SITE << 32 | (uint64_t)CODE_SIZE << 40);
}

/* The return of malloc, to which somebody has jumped or (call_from) called. */
static unsigned int malloc_returns(uint64_t bytes, bool failed)
{
	uint64_t return_address = *word_at(machine.sp);
	unsigned int flags;

	*word_at(machine.sp) = GARBAGE;
	flags = mark_of_allocation(&machine.marks, machine.sp, return_address, bytes, failed);
	machine.sp += 8;
	return RECORD_OPERATOR(flags);
}

static unsigned int free_begins(uint64_t block)
{
	struct pt_regs regs = {.di = block, .sp = machine.sp};

	emit_release(&regs, API_FREE | (uint64_t)COOKIE_NO_ARG << 8 |
				    (uint64_t)ALLOCATOR << COOKIE_OBJECT_SHIFT);
	assert_int_equal(machine.release.object, ALLOCATOR);
	machine.sp += 8;
	return RECORD_OPERATOR(machine.release.head.flags);
}

static unsigned int plain_malloc(uint64_t from, uint64_t bytes)
{
	call_from(from);
	return malloc_returns(bytes, false);
}

/* As libstdc++ has it: a call of malloc with a frame in between. */
static unsigned int new_calls_malloc(uint64_t bytes, bool failed)
{
	unsigned int encoded;

	frame(16);
	call_from(OP_NEW);
	encoded = malloc_returns(bytes, failed);
	machine.sp += 16;
	return encoded;
}

static void test_library(void **state)
{
	(void)state;
	start();
	call_from(MAIN);
	enter(&op_new, 40, 0, 0);
	assert_int_equal(new_calls_malloc(40, false), API_NEW);
	ret();
	call_from(MAIN);
	enter(&op_new_all, 0, 0, 0);
	enter(&op_new, 0, 0, 0); /* a jump */
	assert_int_equal(new_calls_malloc(1, false), API_NEW_ARRAY);
	ret();
	call_from(MAIN);
	enter(&op_new_try, 9, 0, 0);
	frame(8);
	call_from(OP_NEW_TRY);
	enter(&op_new_all, 9, 0, 0);
	enter(&op_new, 9, 0, 0);
	assert_int_equal(new_calls_malloc(9, false), API_NEW_ARRAY);
	assert_int_equal(machine.marks.count, 0);
}

static void test_release(void **state)
{
	(void)state;
	start();
	call_from(MAIN);
	enter(&op_del_all, 0xa0, 0, 0);
	enter(&op_del, 0xa0, 0, 0);
	assert_int_equal(free_begins(0xa0), API_DELETE_ARRAY);
	assert_true(machine.release.size == SIZE_UNKNOWN);
	call_from(MAIN);
	enter(&op_del_size, 0xa0, 24, 1);
	enter(&op_del, 0xa0, 0, 0);
	assert_int_equal(free_begins(0xa0), API_DELETE);
	assert_int_equal(machine.release.size, 24);
	assert_int_equal(machine.release.slack, 0);
	call_from(MAIN);
	enter(&op_del, 0, 0, 0); /* of NULL: nothing to wait for */
	assert_int_equal(machine.marks.count, 0);
	ret();
	call_from(MAIN);
	assert_int_equal(free_begins(0xa0), 0);
}

static void test_jump_to_malloc(void **state)
{
	(void)state;
	start();
	call_from(MAIN);
	enter(&op_new_all, 40, 0, 0);
	enter(&op_new, 40, 0, 0);
	assert_int_equal(malloc_returns(40, false), API_NEW_ARRAY);
	assert_int_equal(plain_malloc(MAIN, 40), 0);
}

static void test_alignment_rounds_up(void **state)
{
	(void)state;
	start();
	call_from(MAIN);
	enter(&op_new_aligned, 100, 64, 0);
	assert_int_equal(new_calls_malloc(128, false), API_NEW);
	ret();
	call_from(MAIN);
	enter(&op_new_aligned, 100, 64, 0);
	assert_int_equal(new_calls_malloc(164, false), OPERATOR_UNKNOWN);
}

static void test_new_that_throws(void **state)
{
	(void)state;
	start();
	call_from(MAIN);
	enter(&op_new_all, 40, 0, 0);
	enter(&op_new, 40, 0, 0);
	assert_int_equal(new_calls_malloc(40, true), API_NEW_ARRAY);
	ret(); /* unwound */
	assert_int_equal(plain_malloc(MAIN + 8, 40), 0);

	for (int i = 0; i < 10; i++) { /* in a loop, from one place, in turns */
		call_from(MAIN);
		enter(i % 2 ? &op_new_all : &op_new, 40, 0, 0);
		if (i % 2)
			enter(&op_new, 40, 0, 0);
		assert_int_equal(new_calls_malloc(40, i < 8), i % 2 ? API_NEW_ARRAY : API_NEW);
		ret();
	}
}

/* A new-handler that allocates, by malloc and by new, and lets operator new try again. */
static void test_handler(void **state)
{
	(void)state;
	start();
	call_from(MAIN);
	enter(&op_new_all, 40, 0, 0);
	enter(&op_new, 40, 0, 0);
	assert_int_equal(new_calls_malloc(40, true), API_NEW_ARRAY);
	frame(16);
	call_from(OP_NEW); /* of the handler */
	frame(8);
	assert_int_equal(plain_malloc(HANDLER, 40), OPERATOR_UNKNOWN);
	call_from(HANDLER);
	enter(&op_new, 40, 0, 0);
	assert_int_equal(new_calls_malloc(40, false), API_NEW);
	ret();
	call_from(HANDLER);
	assert_int_equal(free_begins(0xa0), OPERATOR_UNKNOWN);
	machine.sp += 8 + 8 + 16;
	assert_int_equal(new_calls_malloc(40, false), API_NEW_ARRAY);
}

/* A pool that takes what it needs from malloc now and then, and never gives it back. */
static void test_pool(void **state)
{
	(void)state;
	start();
	call_from(MAIN);
	enter(&op_new, 40, 0, 0);
	assert_int_equal(new_calls_malloc(4096, false), OPERATOR_UNKNOWN);
	ret();
	call_from(MAIN + 0x10);
	enter(&op_new, 40, 0, 0);
	ret();
	call_from(MAIN + 0x20);
	enter(&op_del, 0xa0, 0, 0);
	ret();
	assert_int_equal(plain_malloc(MAIN, 40), 0);
	call_from(MAIN + 0x8);
	assert_int_equal(free_begins(0xa0), 0); /* by somebody else, much later */
}

/* Operators that put a header before each block. */
static void test_header(void **state)
{
	(void)state;
	start();
	call_from(MAIN);
	enter(&op_new, 40, 0, 0);
	assert_int_equal(new_calls_malloc(56, false), OPERATOR_UNKNOWN);
	ret();
	call_from(MAIN);
	enter(&op_del, 0xb0, 0, 0);
	frame(16);
	call_from(OP_DEL);
	assert_int_equal(free_begins(0xa0), OPERATOR_UNKNOWN);
}

/* A handler on an alternate stack, above, between the operator's entry and malloc. */
static void test_signal(void **state)
{
	uint64_t sp;

	(void)state;
	start();
	call_from(MAIN);
	enter(&op_new_all, 40, 0, 0);
	sp = machine.sp;
	machine.sp = ALT_HIGH - 0x80;
	assert_int_equal(plain_malloc(HANDLER, 40), 0);
	call_from(HANDLER);
	enter(&op_new, 40, 0, 0);
	assert_int_equal(new_calls_malloc(40, false), API_NEW);
	ret();
	call_from(HANDLER);
	assert_int_equal(free_begins(0xa0), 0);
	machine.sp = sp;
	enter(&op_new, 40, 0, 0);
	assert_int_equal(new_calls_malloc(40, false), API_NEW_ARRAY);
}

/* Destructors run before operator delete is called, and it may call what it likes. */
static void test_nested_release(void **state)
{
	(void)state;
	start();
	frame(64); /* the outer destructor */
	call_from(MAIN);
	enter(&op_del, 0xb0, 0, 0);
	assert_int_equal(free_begins(0xb0), API_DELETE);
	machine.sp += 64;
	call_from(MAIN);
	enter(&op_del, 0xa0, 0, 0);
	frame(16);
	call_from(OP_DEL);
	assert_int_equal(free_begins(0xc0), OPERATOR_UNKNOWN); /* something of its own first */
	call_from(OP_DEL);
	assert_int_equal(free_begins(0xa0), API_DELETE);
}

/* More operators at work in one thread than are remembered: nothing is claimed of the others. */
static void test_too_many(void **state)
{
	(void)state;
	start();
	for (unsigned int i = 0; i < 3 * MARKS_MAX; i++) {
		call_from(HANDLER);
		enter(&op_new, 40 + i, 0, 0);
		frame(16);
		call_from(OP_NEW);
		frame(16);
	}
	assert_int_equal(machine.marks.count, MARKS_MAX);
	machine.sp += 16 + 8;
	assert_int_equal(plain_malloc(OP_NEW, 40 + 3 * MARKS_MAX - 1), OPERATOR_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_jump_to_malloc),
		cmocka_unit_test(test_alignment_rounds_up),
		cmocka_unit_test(test_new_that_throws),
		cmocka_unit_test(test_handler),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_nested_release),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
