/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is recorded of calls that a gate has sampled (bpf/gate.bpf.h): their arguments, the result,
 * where the stack starts, and that a process cannot pass an invalid sample.
 */
#include "tests/bpf/host.h"
#include "bpf/gate.bpf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "api/api.h"

#define ENTRY  0x18000u /* stack pointer at the function's entry */
#define BP     0x18100u
#define CALLER 0x401000u
#define BLOCK  0x5000u
#define OLD    0x6000u
#define OUT    0x7000u /* where posix_memalign stores the address */
#define SAMPLE 5u

/* In registers whose content does not matter. */
#define NOTHING 0x6e6f7468u

static struct {
	union {
		struct record_head head;
		struct record_begin begin;
		struct record_call call;
	} records[4];
	int record_count;
	uint64_t lost[LOSS_COUNT];
	bool stack_unreadable;
} machine;

static int read_user(uint64_t address, uint64_t *ret_word)
{
	if (machine.stack_unreadable || (address != ENTRY && address != OUT))
		return -1;
	*ret_word = address == ENTRY ? CALLER : BLOCK;
	return 0;
}

static void emit(void *record, uint32_t length)
{
	assert_true(machine.record_count < 4 && length <= sizeof(machine.records[0]));
	memcpy(&machine.records[machine.record_count++], record, length);
}

static void count_loss(enum loss loss)
{
	machine.lost[loss]++;
}

/* What no gate asks for. */

static int wants_sanity(void)
{
	return 0;
}

static struct thread_marks *thread_marks(void)
{
	return NULL;
}

static int is_return_list_full(void)
{
	return 0;
}

static struct thread_calls *exit_calls(void)
{
	return NULL;
}

static struct session_pending *session_newest(void)
{
	return NULL;
}

static struct session_pending *session_read(struct session_pending *pending, uint64_t *ret_sp,
					    uint64_t *ret_word)
{
	(void)pending, (void)ret_sp, (void)ret_word;
	return NULL;
}

/* The gate has drawn the sample: nothing is drawn here. */
static uint32_t no_random(void)
{
	fail_msg("a sample was drawn");
	return 0;
}

static int start(void **state)
{
	(void)state;
	memset(&machine, 0, sizeof(machine));
	memset(&alloc_filter, 0, sizeof(alloc_filter));
	memset(&walked_from, 0, sizeof(walked_from));
	alloc_filter.on = true;
	alloc_filter.mean = 1024;
	alloc_filter.random = no_random;
	return 0;
}

/* A sampled call is at a site. */
static void pass(enum api api, enum gate_part part, struct pt_regs regs)
{
	regs.sp = ENTRY - GATE_FRAME;
	regs.bp = BP;
	regs.ip = NOTHING;
	gate_call(&regs, api_cookie(api) | (uint64_t)part << COOKIE_OBJECT_SHIFT);
}

static void expect_begin(int i, enum api api, uint64_t old, uint64_t size, uint32_t sample)
{
	const struct record_begin *record = &machine.records[i].begin;

	assert_true(i < machine.record_count);
	assert_int_equal(record->head.kind, RECORD_BEGIN);
	assert_int_equal(record->head.api, api);
	assert_int_equal(record->head.flags, RECORD_FLAG_SAMPLE(sample));
	assert_int_equal(record->caller, CALLER);
	assert_int_equal(record->args[0], old);
	assert_int_equal(record->args[1], size);
}

static void expect_outcome(int i, enum record_kind kind, enum api api, uint64_t address,
			   uint64_t size, uint16_t flags)
{
	const struct record_call *record = &machine.records[i].call;

	assert_true(i < machine.record_count);
	assert_int_equal(record->head.kind, kind);
	assert_int_equal(record->head.api, api);
	assert_int_equal(record->head.flags, flags);
	assert_int_equal(record->address, address);
	assert_int_equal(record->size, size);
	assert_int_equal(record->caller, CALLER);
}

static void test_malloc_is_one_record(void **unused)
{
	(void)unused;
	pass(API_MALLOC, GATE_WHOLE, (struct pt_regs){.di = 100, .ax = BLOCK, .r11 = SAMPLE});
	assert_int_equal(machine.record_count, 1);
	expect_outcome(0, RECORD_ALLOC, API_MALLOC, BLOCK, 100, RECORD_FLAG_SAMPLE(SAMPLE));
	assert_int_equal(machine.records[0].call.stack, 77);
}

static void test_calloc_has_size_of_all_elements(void **unused)
{
	(void)unused;
	pass(API_CALLOC, GATE_WHOLE,
	     (struct pt_regs){.di = 3, .si = 7, .ax = BLOCK, .r11 = SAMPLE});
	assert_int_equal(machine.record_count, 1);
	expect_outcome(0, RECORD_ALLOC, API_CALLOC, BLOCK, 21, RECORD_FLAG_SAMPLE(SAMPLE));
}

/* Its size and sample are in the begin, its address where the first argument points. */
static void test_posix_memalign_has_begin_and_end_at_one_site(void **unused)
{
	(void)unused;
	pass(API_POSIX_MEMALIGN, GATE_WHOLE,
	     (struct pt_regs){.di = OUT, .si = 64, .dx = 200, .r11 = SAMPLE});
	assert_int_equal(machine.record_count, 2);
	expect_begin(0, API_POSIX_MEMALIGN, 0, 200, SAMPLE);
	expect_outcome(1, RECORD_END, API_POSIX_MEMALIGN, BLOCK, 0, 0);
	assert_true(may_be_reported(BLOCK));
}

/* The old block was sampled, the new one is not. Before the call the result register has no
 * result. */
static void test_realloc_has_begin_and_end_at_two_sites(void **unused)
{
	(void)unused;
	pass(API_REALLOC, GATE_BEGIN,
	     (struct pt_regs){.di = OLD, .si = 300, .ax = NOTHING, .r11 = SAMPLE_NOT});
	assert_int_equal(machine.record_count, 1);
	expect_begin(0, API_REALLOC, OLD, 300, SAMPLE_NOT);
	assert_false(may_be_reported(NOTHING));
	pass(API_REALLOC, GATE_END,
	     (struct pt_regs){.di = OLD, .si = 300, .ax = BLOCK, .r11 = SAMPLE_NOT});
	assert_int_equal(machine.record_count, 2);
	expect_outcome(1, RECORD_END, API_REALLOC, BLOCK, 300, RECORD_FLAG_SAMPLE(SAMPLE_NOT));
	assert_int_equal(machine.records[1].call.stack, 0);
	assert_false(may_be_reported(BLOCK));
}

static void test_sampled_realloc_has_a_stack(void **unused)
{
	(void)unused;
	pass(API_REALLOC, GATE_BEGIN, (struct pt_regs){.di = OLD, .si = 300, .r11 = SAMPLE});
	pass(API_REALLOC, GATE_END,
	     (struct pt_regs){.di = OLD, .si = 300, .ax = BLOCK, .r11 = SAMPLE});
	assert_int_equal(machine.record_count, 2);
	expect_begin(0, API_REALLOC, OLD, 300, SAMPLE);
	expect_outcome(1, RECORD_END, API_REALLOC, BLOCK, 300, RECORD_FLAG_SAMPLE(SAMPLE));
	assert_int_equal(machine.records[1].call.stack, 77);
	assert_true(may_be_reported(BLOCK));
}

static void test_failed_calls_are_flagged(void **unused)
{
	uint16_t flags = RECORD_FLAG_FAILED | RECORD_FLAG_SAMPLE(SAMPLE);

	(void)unused;
	pass(API_MALLOC, GATE_WHOLE, (struct pt_regs){.di = 100, .r11 = SAMPLE});
	pass(API_REALLOC, GATE_END, (struct pt_regs){.di = OLD, .si = 300, .r11 = SAMPLE});
	pass(API_POSIX_MEMALIGN, GATE_WHOLE,
	     (struct pt_regs){.di = OUT, .si = 64, .dx = 200, .ax = 12, .r11 = SAMPLE});
	assert_int_equal(machine.record_count, 4);
	expect_outcome(0, RECORD_ALLOC, API_MALLOC, 0, 100, flags);
	expect_outcome(1, RECORD_END, API_REALLOC, 0, 300, flags);
	expect_begin(2, API_POSIX_MEMALIGN, 0, 200, SAMPLE);
	expect_outcome(3, RECORD_END, API_POSIX_MEMALIGN, 0, 0, RECORD_FLAG_FAILED);
	assert_false(may_be_reported(BLOCK));
}

/* The free of a block is reported if its allocation was. */
static void test_free_of_sampled_block_is_reported(void **unused)
{
	struct pt_regs regs = {.sp = ENTRY, .di = BLOCK};

	(void)unused;
	emit_free(&regs, api_cookie(API_FREE));
	assert_int_equal(machine.record_count, 0);
	pass(API_MALLOC, GATE_WHOLE, (struct pt_regs){.di = 100, .ax = BLOCK, .r11 = SAMPLE});
	emit_free(&regs, api_cookie(API_FREE));
	assert_int_equal(machine.record_count, 2);
	assert_int_equal(machine.records[1].head.kind, RECORD_FREE);
}

static void test_all_levels_and_no_other_samples_are_valid(void **unused)
{
	static const unsigned long invalid[] = {0,  SAMPLE_LEVELS + 1, SAMPLE_NOT - 1,
						64, UINT32_MAX,        1ul << 32};
	enum { INVALID = sizeof(invalid) / sizeof(invalid[0]) };

	(void)unused;
	for (size_t i = 0; i < INVALID; i++)
		for (int part = GATE_WHOLE; part <= GATE_END; part++)
			pass(API_REALLOC, (enum gate_part)part,
			     (struct pt_regs){.di = OLD, .si = 8, .ax = BLOCK, .r11 = invalid[i]});
	assert_int_equal(machine.record_count, 0);
	assert_int_equal(machine.lost[LOSS_READ], 3 * INVALID);
	assert_false(may_be_reported(BLOCK));
	for (uint32_t sample = 1; sample <= SAMPLE_LEVELS; sample++) {
		machine.record_count = 0;
		pass(API_MALLOC, GATE_WHOLE,
		     (struct pt_regs){
			     .di = 8, .ax = BLOCK, .r11 = sample | (unsigned long)NOTHING << 32});
		expect_outcome(0, RECORD_ALLOC, API_MALLOC, BLOCK, 8, RECORD_FLAG_SAMPLE(sample));
	}
	assert_int_equal(machine.lost[LOSS_READ], 3 * INVALID);
}

static void test_huge_sizes_are_capped(void **unused)
{
	(void)unused;
	pass(API_CALLOC, GATE_WHOLE, (struct pt_regs){.di = ~0ul, .si = ~0ul, .r11 = SAMPLE});
	expect_outcome(0, RECORD_ALLOC, API_CALLOC, 0, SIZE_BESIDE,
		       RECORD_FLAG_FAILED | RECORD_FLAG_SAMPLE(SAMPLE));
}

/* Not at the gate's site, but where the call returns to. */
static void test_stack_starts_at_the_caller(void **unused)
{
	(void)unused;
	pass(API_MALLOC, GATE_WHOLE, (struct pt_regs){.di = 100, .ax = BLOCK, .r11 = SAMPLE});
	assert_int_equal(walked_from.ip, CALLER);
	assert_int_equal(walked_from.sp, ENTRY + 8);
	assert_int_equal(walked_from.bp, BP);
	assert_int_equal(walked_from.word, 8);
}

static void test_unreadable_return_address_loses_no_call(void **unused)
{
	(void)unused;
	machine.stack_unreadable = true;
	pass(API_MALLOC, GATE_WHOLE, (struct pt_regs){.di = 100, .ax = BLOCK, .r11 = SAMPLE});
	assert_int_equal(machine.record_count, 1);
	assert_int_equal(machine.records[0].call.address, BLOCK);
	assert_int_equal(machine.records[0].call.caller, 0);
	assert_int_equal(machine.lost[LOSS_READ], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_malloc_is_one_record, start),
		cmocka_unit_test_setup(test_calloc_has_size_of_all_elements, start),
		cmocka_unit_test_setup(test_posix_memalign_has_begin_and_end_at_one_site, start),
		cmocka_unit_test_setup(test_realloc_has_begin_and_end_at_two_sites, start),
		cmocka_unit_test_setup(test_sampled_realloc_has_a_stack, start),
		cmocka_unit_test_setup(test_failed_calls_are_flagged, start),
		cmocka_unit_test_setup(test_free_of_sampled_block_is_reported, start),
		cmocka_unit_test_setup(test_all_levels_and_no_other_samples_are_valid, start),
		cmocka_unit_test_setup(test_huge_sizes_are_capped, start),
		cmocka_unit_test_setup(test_stack_starts_at_the_caller, start),
		cmocka_unit_test_setup(test_unreadable_return_address_loses_no_call, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
