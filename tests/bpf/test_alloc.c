/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scripts of calls, returns, exceptions and signals against the pairing code, on a model of what
 * the kernel does with return probes: it hijacks return addresses, keeps a list of pending
 * instances, and throws away those below the stack pointer. Every script runs with both carriers.
 */
#include "tests/bpf/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "api/api.h"

#define CALLER  0x401000u
#define RECORDS 32

enum carrier { CARRIER_SESSION, CARRIER_THREAD };

struct instance {
	uint64_t sp, original, cookie, word;
};

static struct machine {
	enum carrier carrier;
	struct instance pending[16]; /* oldest first */
	int pending_count;
	struct thread_calls thread;
	bool sanity;
	struct thread_marks marks;
	uint64_t word_at[8][2]; /* a little memory: address, value */
	struct record_call records[RECORDS];
	int record_count;
	uint64_t lost[LOSS_COUNT];
	bool killed; /* a return found no instance: SIGILL */
	bool list_full;
} machine;

/* What the pairing code asks for. */

static uint64_t *memory(uint64_t address)
{
	for (int i = 0; i < 8; i++) {
		if (!machine.word_at[i][0])
			machine.word_at[i][0] = address;
		if (machine.word_at[i][0] == address)
			return &machine.word_at[i][1];
	}
	fail_msg("script uses too much memory");
	return NULL;
}

static int read_user(uint64_t address, uint64_t *ret_word)
{
	*ret_word = *memory(address);
	return 0;
}

static int is_return_list_full(void)
{
	return machine.list_full;
}

static int wants_sanity(void)
{
	return machine.sanity;
}

static struct thread_marks *thread_marks(void)
{
	return &machine.marks;
}

static void emit(void *record, uint32_t length)
{
	struct record_call *copy = &machine.records[machine.record_count++];

	assert_true(machine.record_count < RECORDS);
	memcpy(copy, record, length < sizeof(*copy) ? length : sizeof(*copy));
}

static void count_loss(enum loss loss)
{
	machine.lost[loss]++;
}

static struct session_pending *pending_at(const struct instance *instance)
{
	return instance > machine.pending ? (struct session_pending *)(instance - 1) : NULL;
}

static struct session_pending *session_newest(void)
{
	return pending_at(&machine.pending[machine.pending_count]);
}

static struct session_pending *session_read(struct session_pending *pending, uint64_t *ret_sp,
					    uint64_t *ret_word)
{
	const struct instance *instance = (const void *)pending;

	*ret_sp = instance->sp;
	*ret_word = instance->word;
	return pending_at(instance);
}

static struct thread_calls *exit_calls(void)
{
	return machine.carrier == CARRIER_SESSION ? &machine.thread : NULL;
}

/* What the kernel does. */

static void start(enum carrier carrier)
{
	memset(&machine, 0, sizeof(machine));
	machine.carrier = carrier;
}

static void kernel_arm(const struct pt_regs *regs, uint64_t cookie, uint64_t word)
{
	uint64_t original = *memory(regs->sp);
	bool chained = original == TRAMPOLINE;

	while (machine.pending_count) {
		uint64_t sp = machine.pending[machine.pending_count - 1].sp;

		if (chained ? regs->sp <= sp : regs->sp < sp)
			break;
		machine.pending_count--;
	}
	machine.pending[machine.pending_count++] = (struct instance){
		.sp = regs->sp, .original = original, .cookie = cookie, .word = word};
	*memory(regs->sp) = TRAMPOLINE;
}

static void enter(enum api api, struct pt_regs regs)
{
	uint64_t cookie = api_cookie(api), word = 0;

	if (machine.carrier == CARRIER_SESSION) {
		if (!session_enter(&regs, cookie, &word))
			kernel_arm(&regs, cookie, word);
		return;
	}
	thread_enter(&machine.thread, &regs, cookie);
	kernel_arm(&regs, cookie, 0);
}

static void call(enum api api, struct pt_regs regs)
{
	*memory(regs.sp) = CALLER;
	enter(api, regs);
}

static void tail_call(enum api api, struct pt_regs regs)
{
	enter(api, regs);
}

static void call_free(uint64_t sp, uint64_t address)
{
	struct pt_regs regs = {.sp = sp, .di = address};

	*memory(sp) = CALLER;
	emit_free(&regs, api_cookie(API_FREE) | (uint64_t)COOKIE_FLAG_CALLER << 24);
	assert_true(!address || machine.records[machine.record_count - 1].address == address);
}

static void leave(const struct instance *instance, uint64_t original, uint64_t result)
{
	struct pt_regs regs = {.sp = instance->sp + 8, .ip = original, .ax = result};
	uint64_t cookie, payload;

	if (machine.carrier == CARRIER_SESSION)
		session_leave(&regs, instance->word);
	else if (thread_leave(&machine.thread, instance->sp, &cookie, &payload))
		emit_outcome(&regs, cookie, payload);
}

/* The function at sp returns; if its return address was hijacked, the probes of its chain run. */
static void ret(uint64_t sp, uint64_t result)
{
	int first = machine.pending_count;
	uint64_t original;

	if (*memory(sp) != TRAMPOLINE)
		return;
	while (machine.pending_count && machine.pending[machine.pending_count - 1].sp < sp)
		machine.pending_count--;
	first = machine.pending_count;
	while (first && machine.pending[first - 1].sp == sp)
		first--;
	if (first == machine.pending_count) {
		machine.killed = true;
		return;
	}
	original = machine.pending[first].original;
	for (int i = machine.pending_count - 1; i >= first; i--)
		leave(&machine.pending[i], original, result);
	machine.pending_count = first;
}

/* What the script expects. */

static void expect(int i, enum record_kind kind, enum api api, uint64_t address, uint64_t size)
{
	const struct record_call *record = &machine.records[i];

	assert_true(i < machine.record_count);
	assert_int_equal(record->head.kind, kind);
	assert_int_equal(record->head.api, api);
	if (kind == RECORD_BEGIN)
		return;
	assert_int_equal(record->address, address);
	if (kind != RECORD_FREE)
		assert_int_equal(record->size, size);
}

static void expect_records(int count)
{
	assert_int_equal(machine.record_count, count);
	assert_false(machine.killed);
}

static void simple_calls(void)
{
	call(API_MALLOC, (struct pt_regs){.sp = 0x18000, .di = 100});
	ret(0x18000, 0xa0);
	call(API_CALLOC, (struct pt_regs){.sp = 0x18000, .di = 3, .si = 7});
	ret(0x18000, 0xb0);
	call_free(0x18000, 0xa0);
	call_free(0x18000, 0);
	expect_records(3);
	expect(0, RECORD_ALLOC, API_MALLOC, 0xa0, 100);
	expect(1, RECORD_ALLOC, API_CALLOC, 0xb0, 21);
	expect(2, RECORD_FREE, API_FREE, 0xa0, 0);
	assert_int_equal(machine.records[0].caller, CALLER);
	assert_int_equal(machine.records[0].stack, 77);
}

static void nested_calls_are_one(void)
{
	call(API_MALLOC, (struct pt_regs){.sp = 0x18000, .di = 1 << 20});
	call(API_MMAP, (struct pt_regs){.sp = 0x17f00, .si = 1 << 21});
	ret(0x17f00, 0x700000);
	call(API_MUNMAP, (struct pt_regs){.sp = 0x17f00, .di = 0x700000, .si = 4096});
	ret(0x17f00, 0);
	ret(0x18000, 0x700010);
	expect_records(1);
	expect(0, RECORD_ALLOC, API_MALLOC, 0x700010, 1 << 20);
}

/* The model drops it, since it knows what is pending; here only the order matters. */
static void free_within_realloc_lies_between(void)
{
	call(API_REALLOC, (struct pt_regs){.sp = 0x18000, .di = 0xa0, .si = 0});
	call_free(0x17f80, 0xa0);
	ret(0x18000, 0);
	expect_records(3);
	expect(0, RECORD_BEGIN, API_REALLOC, 0, 0);
	expect(1, RECORD_FREE, API_FREE, 0xa0, 0);
	expect(2, RECORD_END, API_REALLOC, 0, 0);
	assert_int_equal(machine.records[2].head.flags, RECORD_FLAG_FAILED);
}

static void tail_call_is_nested(void)
{
	call(API_REALLOC, (struct pt_regs){.sp = 0x18000, .di = 0, .si = 64});
	tail_call(API_MALLOC, (struct pt_regs){.sp = 0x18000, .di = 64});
	ret(0x18000, 0xa0);
	expect_records(2);
	expect(1, RECORD_END, API_REALLOC, 0xa0, 64);
}

static void same_depth_after_a_throw_is_new(void)
{
	for (int i = 0; i < 20; i++) /* each leaves by an exception: no return */
		call(API_MALLOC, (struct pt_regs){.sp = 0x18000, .di = 8});
	call(API_MALLOC, (struct pt_regs){.sp = 0x18000, .di = 9});
	ret(0x18000, 0xa0);
	expect_records(1);
	expect(0, RECORD_ALLOC, API_MALLOC, 0xa0, 9);
}

static void shallower_after_longjmp_is_new(void)
{
	call(API_MALLOC, (struct pt_regs){.sp = 0x17000, .di = 8});
	call(API_MMAP, (struct pt_regs){.sp = 0x16f00, .si = 4096});
	call(API_MALLOC, (struct pt_regs){.sp = 0x18000, .di = 9});
	ret(0x18000, 0xa0);
	call_free(0x18000, 0xa0);
	expect_records(2);
	expect(0, RECORD_ALLOC, API_MALLOC, 0xa0, 9);
	expect(1, RECORD_FREE, API_FREE, 0xa0, 0);
}

static void handler_that_allocates_within_mmap(void)
{
	call(API_MMAP, (struct pt_regs){.sp = 0x18000, .si = 4096});
	call(API_MALLOC, (struct pt_regs){.sp = 0x17000, .di = 5});
	ret(0x17000, 0xa0);
	ret(0x18000, 0x700000);
	expect_records(3);
	expect(0, RECORD_BEGIN, API_MMAP, 0, 0);
	expect(1, RECORD_ALLOC, API_MALLOC, 0xa0, 5);
	expect(2, RECORD_END, API_MMAP, 0x700000, 4096);
}

static void failures_are_flagged(void)
{
	call(API_MALLOC, (struct pt_regs){.sp = 0x18000, .di = ~0ul});
	ret(0x18000, 0);
	call(API_CALLOC, (struct pt_regs){.sp = 0x18000, .di = ~0ul, .si = ~0ul});
	ret(0x18000, 0);
	call(API_MMAP, (struct pt_regs){.sp = 0x18000, .si = 4096});
	ret(0x18000, (uint64_t)-12);
	call(API_MUNMAP, (struct pt_regs){.sp = 0x18000, .di = 1, .si = 4096});
	ret(0x18000, (uint64_t)-1);
	expect_records(6);
	expect(0, RECORD_ALLOC, API_MALLOC, 0, PAYLOAD_MAX);
	expect(1, RECORD_ALLOC, API_CALLOC, 0, PAYLOAD_MAX);
	for (int i = 0; i < 6; i++)
		assert_int_equal(machine.records[i].head.flags,
				 i == 2 || i == 4 ? 0 : RECORD_FLAG_FAILED);
}

static void count_times_zero_is_zero(void)
{
	call(API_CALLOC, (struct pt_regs){.sp = 0x18000, .di = 0, .si = ~0ul});
	ret(0x18000, 0xa0);
	expect(0, RECORD_ALLOC, API_CALLOC, 0xa0, 0);
}

static void posix_memalign_reads_its_out_parameter(void)
{
	*memory(0x18100) = 0xabc0;
	call(API_POSIX_MEMALIGN,
	     (struct pt_regs){.sp = 0x18000, .di = 0x18100, .si = 64, .dx = 10});
	ret(0x18000, 0);
	call(API_POSIX_MEMALIGN, (struct pt_regs){.sp = 0x18000, .di = 0x18100, .si = 3, .dx = 10});
	ret(0x18000, 22);
	expect_records(4);
	expect(1, RECORD_END, API_POSIX_MEMALIGN, 0xabc0, 0);
	expect(3, RECORD_END, API_POSIX_MEMALIGN, 0, 0);
	assert_int_equal(machine.records[3].head.flags, RECORD_FLAG_FAILED);
}

/* -errno and MAP_FAILED in words of 8 and of 4 bytes, beside the last addresses there are. */
static void map_errors_of_both_word_sizes(void)
{
	static const uint64_t errors[] = {-1ULL, -4095ULL, 0xffffffff, 0xfffff001};
	static const uint64_t addresses[] = {0x7ffffffff000, 0xffffd000, 0xfffff000, 0x100000000};

	for (int i = 0; i < 8; i++) {
		uint64_t result = i < 4 ? errors[i] : addresses[i - 4];

		call(API_MMAP, (struct pt_regs){.sp = 0x18000, .si = 4096});
		ret(0x18000, result);
		assert_int_equal(machine.records[2 * i + 1].head.flags,
				 i < 4 ? RECORD_FLAG_FAILED : 0);
		expect(2 * i + 1, RECORD_END, API_MMAP, result, 4096);
	}
}

static void alternate_stack_kills_nobody(void)
{
	call(API_MMAP, (struct pt_regs){.sp = 0x18000, .si = 4096});
	call(API_MALLOC, (struct pt_regs){.sp = 0x38000, .di = 5});
	ret(0x38000, 0xa0);
	call_free(0x38000, 0xa0);
	ret(0x18000, 0x700000);
	/* Only a session can refuse its return probe; without sessions the kernel decides. */
	if (machine.carrier == CARRIER_THREAD)
		return;
	expect_records(3);
	assert_int_equal(machine.lost[LOSS_NO_RETURN], 1);
	expect(1, RECORD_FREE, API_FREE, 0xa0, 0);
	expect(2, RECORD_END, API_MMAP, 0x700000, 4096);
}

static void full_return_list_is_a_loss(void)
{
	machine.list_full = true;
	for (int i = 0; i < PENDING_MAX; i++)
		machine.pending[machine.pending_count++] =
			(struct instance){.sp = 0x1f000 - (unsigned int)i * 16};
	call(API_MALLOC, (struct pt_regs){.sp = 0x18000, .di = 5});
	assert_int_equal(machine.lost[LOSS_NO_RETURN], 1);
	expect_records(0);
}

static void other_tools_probes_do_not_nest(void)
{
	machine.pending[machine.pending_count++] =
		(struct instance){.sp = 0x1f000, .original = CALLER};
	call(API_MALLOC, (struct pt_regs){.sp = 0x18000, .di = 5});
	ret(0x18000, 0xa0);
	expect_records(1);
}

#define SCRIPT(name)                          \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		start(CARRIER_SESSION);       \
		name();                       \
		start(CARRIER_THREAD);        \
		name();                       \
	}

SCRIPT(simple_calls)
SCRIPT(nested_calls_are_one)
SCRIPT(free_within_realloc_lies_between)
SCRIPT(tail_call_is_nested)
SCRIPT(same_depth_after_a_throw_is_new)
SCRIPT(shallower_after_longjmp_is_new)
SCRIPT(handler_that_allocates_within_mmap)
SCRIPT(failures_are_flagged)
SCRIPT(count_times_zero_is_zero)
SCRIPT(posix_memalign_reads_its_out_parameter)
SCRIPT(map_errors_of_both_word_sizes)
SCRIPT(alternate_stack_kills_nobody)
SCRIPT(full_return_list_is_a_loss)
SCRIPT(other_tools_probes_do_not_nest)

/*
 * Calls that are watched at their exits: their return addresses stay as they are.
 */

#define NEW_SP 0x18000

static void exit_enter(uint64_t sp, uint64_t size)
{
	struct pt_regs regs = {.sp = sp, .di = size};

	if (machine.carrier != CARRIER_SESSION ||
	    session_place(&regs, api_cookie(API_NEW)) != PLACE_NESTED)
		exit_call_enter(&machine.thread, &regs, api_cookie(API_NEW));
}

static void exit_call(uint64_t sp, uint64_t caller, uint64_t size)
{
	*memory(sp) = caller;
	exit_enter(sp, size);
}

static void pass_exit(uint64_t sp, uint64_t result, enum exit_kind kind)
{
	struct pt_regs regs = {.sp = sp, .ax = result};

	exit_call_leave(&machine.thread, &regs, kind);
}

static void throw_at(uint64_t sp)
{
	struct pt_regs regs = {.sp = sp};

	exit_call_throw(&machine.thread, &regs);
}

static void malloc_at(uint64_t sp, uint64_t caller, uint64_t result)
{
	*memory(sp) = caller;
	enter(API_MALLOC, (struct pt_regs){.sp = sp, .di = 5});
	ret(sp, result);
}

static void exit_reports_the_result(void)
{
	exit_call(NEW_SP, CALLER, 100);
	pass_exit(NEW_SP - 0x40, 0xbad, EXIT_RETURN); /* of a helper that is also called */
	pass_exit(NEW_SP, 0xa0, EXIT_RETURN);
	pass_exit(NEW_SP, 0xbad, EXIT_RETURN); /* of another function at the same depth */
	expect_records(1);
	expect(0, RECORD_ALLOC, API_NEW, 0xa0, 100);
	assert_int_equal(machine.records[0].caller, CALLER);
	assert_int_equal(machine.thread.count, 0);
}

static void malloc_within_new_is_nested(void)
{
	exit_call(NEW_SP, CALLER, 100);
	malloc_at(NEW_SP - 0x40, CALLER + 1, 0xb0);
	pass_exit(NEW_SP, 0xa0, EXIT_RETURN);
	malloc_at(NEW_SP - 0x40, CALLER + 1, 0xb0);
	expect_records(2);
	expect(0, RECORD_ALLOC, API_NEW, 0xa0, 100);
	expect(1, RECORD_ALLOC, API_MALLOC, 0xb0, 5);
}

static void new_within_malloc_is_nested(void)
{
	call(API_MALLOC, (struct pt_regs){.sp = NEW_SP + 0x40, .di = 7});
	exit_call(NEW_SP, CALLER, 100);
	pass_exit(NEW_SP, 0xa0, EXIT_RETURN);
	ret(NEW_SP + 0x40, 0xb0);
	expect_records(1);
	expect(0, RECORD_ALLOC, API_MALLOC, 0xb0, 7);
}

static void tail_call_out_of_new_is_nested(void)
{
	exit_call(NEW_SP, CALLER, 100);
	tail_call(API_MALLOC, (struct pt_regs){.sp = NEW_SP, .di = 5});
	ret(NEW_SP, 0xa0);
	pass_exit(NEW_SP, 0xa0, EXIT_RETURN);
	assert_int_equal(machine.record_count, 1);
	expect(0, RECORD_ALLOC, API_NEW, 0xa0, 100);
}

static void new_that_hands_over_is_a_malloc(void)
{
	exit_call(NEW_SP, CALLER, 100);
	pass_exit(NEW_SP, 0, EXIT_HANDS_OVER);
	tail_call(API_MALLOC, (struct pt_regs){.sp = NEW_SP, .di = 100});
	ret(NEW_SP, 0xa0);
	expect_records(1);
	expect(0, RECORD_ALLOC, API_MALLOC, 0xa0, 100);
}

/* What the exception is made of, and what happens from then on, is the program's. */
static void thrown_new_has_failed(void)
{
	for (int i = 0; i < 3; i++) {
		exit_call(NEW_SP, CALLER, 100);
		throw_at(NEW_SP - 0x80);
		throw_at(NEW_SP - 0x80);
		malloc_at(NEW_SP - 0x90, CALLER + 1, 0xb0);
	}
	expect_records(6);
	for (int i = 0; i < 6; i += 2) {
		expect(i, RECORD_ALLOC, API_NEW, 0, 100);
		assert_int_equal(machine.records[i].head.flags, RECORD_FLAG_FAILED);
		expect(i + 1, RECORD_ALLOC, API_MALLOC, 0xb0, 5);
	}
	assert_int_equal(machine.lost[LOSS_NO_RETURN], 0);
}

static void new_that_catches_returns_all_the_same(void)
{
	exit_call(NEW_SP, CALLER, 100);
	throw_at(NEW_SP - 0x80);
	malloc_at(NEW_SP - 0x90, CALLER + 1, 0xb0);
	pass_exit(NEW_SP, 0xa0, EXIT_RETURN);
	expect_records(3);
	expect(2, RECORD_ALLOC, API_NEW, 0xa0, 100);
}

static void exceptions_elsewhere_do_not_matter(void)
{
	throw_at(NEW_SP);
	exit_call(NEW_SP, CALLER, 100);
	throw_at(NEW_SP + 0x80);
	throw_at(ALT_LOW + 0x100);
	pass_exit(NEW_SP, 0xa0, EXIT_RETURN);
	throw_at(NEW_SP - 0x80);
	expect_records(1);
	expect(0, RECORD_ALLOC, API_NEW, 0xa0, 100);
}

/* Left without any trace (longjmp): a loss, found at the next call, wherever it is. */
static void new_that_never_ends_is_a_loss(void)
{
	exit_call(NEW_SP, CALLER, 100);
	exit_call(NEW_SP, CALLER, 101); /* the same again */
	malloc_at(NEW_SP + 0x10, CALLER + 1, 0xb0);
	exit_call(NEW_SP, CALLER, 102);
	*memory(NEW_SP) = 1; /* its stack is used by others */
	malloc_at(NEW_SP - 0x40, CALLER + 2, 0xc0);
	expect_records(2);
	expect(0, RECORD_ALLOC, API_MALLOC, 0xb0, 5);
	expect(1, RECORD_ALLOC, API_MALLOC, 0xc0, 5);
	assert_int_equal(machine.lost[LOSS_NO_RETURN], 3);
}

static void new_on_another_stack_is_its_own(void)
{
	exit_call(NEW_SP, CALLER, 100);
	exit_call(ALT_LOW + 0x100, CALLER + 1, 200);
	pass_exit(ALT_LOW + 0x100, 0xb0, EXIT_RETURN);
	pass_exit(NEW_SP, 0xa0, EXIT_RETURN);
	expect_records(2);
	expect(0, RECORD_ALLOC, API_NEW, 0xb0, 200);
	expect(1, RECORD_ALLOC, API_NEW, 0xa0, 100);
	assert_int_equal(machine.lost[LOSS_NO_RETURN], 0);
}

SCRIPT(exit_reports_the_result)
SCRIPT(malloc_within_new_is_nested)
SCRIPT(new_within_malloc_is_nested)
SCRIPT(tail_call_out_of_new_is_nested)
SCRIPT(new_that_hands_over_is_a_malloc)
SCRIPT(thrown_new_has_failed)
SCRIPT(new_that_catches_returns_all_the_same)
SCRIPT(exceptions_elsewhere_do_not_matter)
SCRIPT(new_that_never_ends_is_a_loss)
SCRIPT(new_on_another_stack_is_its_own)

static void test_many_pending_calls_are_bounded(void **state)
{
	(void)state;
	start(CARRIER_THREAD);
	for (uint64_t i = 0; i < 3 * PENDING_MAX; i++) {
		struct pt_regs regs = {.sp = 0x1f000 - i * 0x10, .di = 1, .si = 1};
		uint64_t cookie = api_cookie(i % 2 ? API_MALLOC : API_MMAP);

		thread_enter(&machine.thread, &regs, cookie);
		machine.record_count = 0;
	}
	assert_true(machine.thread.count <= PENDING_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simple_calls),
		cmocka_unit_test(test_nested_calls_are_one),
		cmocka_unit_test(test_free_within_realloc_lies_between),
		cmocka_unit_test(test_tail_call_is_nested),
		cmocka_unit_test(test_same_depth_after_a_throw_is_new),
		cmocka_unit_test(test_shallower_after_longjmp_is_new),
		cmocka_unit_test(test_handler_that_allocates_within_mmap),
		cmocka_unit_test(test_failures_are_flagged),
		cmocka_unit_test(test_count_times_zero_is_zero),
		cmocka_unit_test(test_posix_memalign_reads_its_out_parameter),
		cmocka_unit_test(test_map_errors_of_both_word_sizes),
		cmocka_unit_test(test_alternate_stack_kills_nobody),
		cmocka_unit_test(test_full_return_list_is_a_loss),
		cmocka_unit_test(test_other_tools_probes_do_not_nest),
		cmocka_unit_test(test_exit_reports_the_result),
		cmocka_unit_test(test_malloc_within_new_is_nested),
		cmocka_unit_test(test_new_within_malloc_is_nested),
		cmocka_unit_test(test_tail_call_out_of_new_is_nested),
		cmocka_unit_test(test_new_that_hands_over_is_a_malloc),
		cmocka_unit_test(test_thrown_new_has_failed),
		cmocka_unit_test(test_new_that_catches_returns_all_the_same),
		cmocka_unit_test(test_exceptions_elsewhere_do_not_matter),
		cmocka_unit_test(test_new_that_never_ends_is_a_loss),
		cmocka_unit_test(test_new_on_another_stack_is_its_own),
		cmocka_unit_test(test_many_pending_calls_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
