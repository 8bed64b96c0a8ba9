// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a stopped function can still read. The functions are assembly with CFI, in this program; a
 * frame of `name` continues at `name_at`. In most of them the CFA is rsp + 32 there, so that the
 * frame has three words at CFA - 32, - 24 and - 16.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#ifdef __x86_64__
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "symbol/liveness/liveness.h"

enum { RBX, RBP, R12, R13, R14, R15 };

#define BEGIN(name)                          \
	".text\n"                            \
	".type " #name ", @function\n"       \
	".local " #name "\n"                 \
	".globl " #name "_at\n"              \
	".hidden " #name "_at\n" #name ":\n" \
	".cfi_startproc\n"
#define END      ".cfi_endproc\n"
#define AT(name) #name "_at:\n"
#define ENTER    "subq $24, %rsp\n.cfi_adjust_cfa_offset 24\n"
#define CALL     "call ordinary\n"
#define LEAVE    "addq $24, %rsp\n.cfi_adjust_cfa_offset -24\nret\n"
/* A function whose frame continues after a call with `body`. */
#define FUNCTION(name, body)           \
	extern const char name##_at[]; \
	__asm__(BEGIN(name) ENTER CALL AT(name) body LEAVE END)

__asm__(".text\nordinary:\n.cfi_startproc\nret\n.cfi_endproc\n");

static struct module_liveness *liveness;

static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t address = *(uintptr_t *)arg - info->dlpi_addr;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type != PT_LOAD || address - header->p_vaddr >= header->p_filesz)
			continue;
		*(uintptr_t *)arg = address - header->p_vaddr + header->p_offset;
		return 1;
	}
	return 0;
}

static uint64_t offset_of(const char *at)
{
	uintptr_t offset = (uintptr_t)at;

	assert_true(dl_iterate_phdr(find_offset, &offset));
	return offset;
}

static enum liveness slot(const char *at, int32_t cfa_offset)
{
	return liveness_slot(liveness, offset_of(at), false, cfa_offset);
}

static struct frame_liveness frame(const char *at)
{
	struct frame_liveness frame;

	liveness_frame(liveness, offset_of(at), false, &frame);
	return frame;
}

static void expect_slots(const char *at, enum liveness low, enum liveness middle,
			 enum liveness high)
{
	assert_int_equal(slot(at, -32), low);
	assert_int_equal(slot(at, -24), middle);
	assert_int_equal(slot(at, -16), high);
}

FUNCTION(unwritten, "");

static void test_slot_never_written_is_dead(void **state)
{
	(void)state;
	expect_slots(unwritten_at, LIVENESS_DEAD, LIVENESS_DEAD, LIVENESS_DEAD);
	assert_int_equal(slot(unwritten_at, -8), LIVENESS_READ); /* the return address */
}

FUNCTION(branches, "testl %eax, %eax\nje 1f\nmovq 8(%rsp), %rax\n1:\n");

static void test_slot_read_on_one_branch_is_read(void **state)
{
	(void)state;
	expect_slots(branches_at, LIVENESS_DEAD, LIVENESS_READ, LIVENESS_DEAD);
}

FUNCTION(overwritten, "movq $0, (%rsp)\nmovq (%rsp), %rax\n"
		      "movups %xmm0, 8(%rsp)\nmovq 8(%rsp), %rax\nmovq 16(%rsp), %rax\n");

static void test_slot_written_before_read_is_dead(void **state)
{
	(void)state;
	expect_slots(overwritten_at, LIVENESS_DEAD, LIVENESS_DEAD, LIVENESS_DEAD);
}

FUNCTION(partial, "movl $0, (%rsp)\nmovq (%rsp), %rax\nmovl $0, 8(%rsp)\nmovb 23(%rsp), %al\n");

static void test_slot_partly_written_is_read(void **state)
{
	(void)state;
	expect_slots(partial_at, LIVENESS_READ, LIVENESS_DEAD, LIVENESS_READ);
}

FUNCTION(maybe, "testl %eax, %eax\nje 1f\nmovq $0, (%rsp)\n1:\nmovq (%rsp), %rax\n"
		"incq 8(%rsp)\n");

static void test_slot_written_on_one_branch_or_modified_is_read(void **state)
{
	(void)state;
	expect_slots(maybe_at, LIVENESS_READ, LIVENESS_READ, LIVENESS_DEAD);
}

extern const char address_at[], copied_at[], pushed_at[], indexed_at[];
__asm__(BEGIN(address) ENTER "leaq 8(%rsp), %rdi\n" CALL AT(address) LEAVE END);
__asm__(BEGIN(copied) ENTER "movq %rsp, %rdi\n" CALL AT(copied) LEAVE END);
__asm__(BEGIN(indexed) ENTER "movq %rdi, 16(%rsp,%rax,8)\n" CALL AT(indexed) LEAVE END);
__asm__(BEGIN(pushed) ENTER "pushq %rsp\n.cfi_adjust_cfa_offset 8\npopq %rdi\n"
			    ".cfi_adjust_cfa_offset -8\n" CALL AT(pushed) LEAVE END);

static void test_slot_at_or_above_taken_address_is_not_dead(void **state)
{
	(void)state;
	expect_slots(address_at, LIVENESS_DEAD, LIVENESS_UNKNOWN, LIVENESS_UNKNOWN);
}

extern const char member_at[];
__asm__(BEGIN(member) ENTER "movq %rdi, (%rsp)\nmovq %rdi, 8(%rsp)\nleaq 16(%rsp), %rdi\n" CALL AT(
	member) "movq $0, 8(%rsp)\nmovq 8(%rsp), %rdi\n" LEAVE END);

static void test_slot_only_written_below_taken_address_is_not_dead(void **state)
{
	(void)state;
	expect_slots(member_at, LIVENESS_UNKNOWN, LIVENESS_DEAD, LIVENESS_UNKNOWN);
}

static void test_frame_of_copied_stack_pointer_is_not_dead(void **state)
{
	(void)state;
	expect_slots(copied_at, LIVENESS_UNKNOWN, LIVENESS_UNKNOWN, LIVENESS_UNKNOWN);
	expect_slots(pushed_at, LIVENESS_UNKNOWN, LIVENESS_UNKNOWN, LIVENESS_UNKNOWN);
	expect_slots(indexed_at, LIVENESS_UNKNOWN, LIVENESS_UNKNOWN, LIVENESS_UNKNOWN);
}

static void test_slot_below_stack_pointer_is_dead(void **state)
{
	(void)state;
	assert_int_equal(slot(copied_at, -32 - 128 - 8), LIVENESS_DEAD);
	assert_int_equal(slot(copied_at, -32 - 128), LIVENESS_UNKNOWN);
}

/*
 * Registers.
 */

extern const char saver_at[];
__asm__(BEGIN(saver) "pushq %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\n"
		     "pushq %r12\n.cfi_adjust_cfa_offset 8\n.cfi_offset %r12, -24\n"
		     "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\n" CALL AT(
			     saver) "movq %r12, %rax\n"
				    "addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
				    "popq %r12\n.cfi_adjust_cfa_offset -8\n"
				    "popq %rbx\n.cfi_adjust_cfa_offset -8\nret\n" END);

static void test_saved_registers_are_reported(void **state)
{
	struct frame_liveness saver = frame(saver_at);

	(void)state;
	assert_true(saver.known);
	assert_false(saver.cfa_from_bp);
	assert_int_equal(saver.cfa_offset, 32);
	assert_int_equal(saver.saved[RBX], -16);
	assert_int_equal(saver.saved[R12], -24);
	assert_int_equal(saver.saved[RBP], 0);
	assert_int_equal(saver.saved[R15], 0);
}

static void test_register_is_read_overwritten_or_passed(void **state)
{
	struct frame_liveness saver = frame(saver_at);

	(void)state;
	assert_int_equal(saver.registers[RBX], LIVENESS_DEAD);
	assert_int_equal(saver.registers[R12], LIVENESS_READ);
	assert_int_equal(saver.registers[RBP], LIVENESS_PASSED);
	assert_int_equal(saver.registers[R13], LIVENESS_PASSED);
}

/* As if the caller's registers were saved. Otherwise an exception would pass them on. */
extern const char idioms_at[];
__asm__(BEGIN(idioms) ENTER
	".cfi_offset %rbx, -16\n.cfi_offset %r12, -24\n.cfi_offset %r14, -32\n" CALL AT(
		idioms) "xorl %ebx, %ebx\nmovb $0, %r12b\ntestl %eax, %eax\ncmove %rax, %r13\n"
			"movl %eax, %r14d\npushq %r15\n.cfi_adjust_cfa_offset 8\n"
			"popq %r15\n.cfi_adjust_cfa_offset -8\n" LEAVE END);

static void test_zeroing_is_no_read_and_partial_write_is_no_kill(void **state)
{
	struct frame_liveness idioms = frame(idioms_at);

	(void)state;
	assert_int_equal(idioms.registers[RBX], LIVENESS_DEAD);
	assert_int_equal(idioms.registers[R12], LIVENESS_PASSED);
	assert_int_not_equal(idioms.registers[R13], LIVENESS_DEAD);
	assert_int_equal(idioms.registers[R14], LIVENESS_DEAD);
	assert_int_equal(idioms.registers[R15], LIVENESS_READ);
}

FUNCTION(bare, "call bare_function\n");
__asm__(".text\nbare_function:\nret\n.globl bare_function_at\n.hidden bare_function_at\n"
	"bare_function_at:\nret\n");
extern const char bare_function_at[];

static void test_callee_without_fde_may_read_registers(void **state)
{
	(void)state;
	assert_int_equal(frame(bare_at).registers[RBX], LIVENESS_READ);
}

/*
 * Control flow.
 */

FUNCTION(anywhere, "jmp *%rax\n");

static void test_indirect_jump_is_unknown(void **state)
{
	(void)state;
	expect_slots(anywhere_at, LIVENESS_UNKNOWN, LIVENESS_UNKNOWN, LIVENESS_UNKNOWN);
	assert_int_equal(frame(anywhere_at).registers[RBX], LIVENESS_UNKNOWN);
}

FUNCTION(into, "testl %eax, %eax\nje 1f+1\n1:\nmovabsq $0, %rax\n");

static void test_jump_into_an_instruction_is_unknown(void **state)
{
	(void)state;
	assert_int_equal(slot(into_at, -32), LIVENESS_UNKNOWN);
}

FUNCTION(loop, "1:\nmovq 8(%rsp), %rax\nmovq $0, (%rsp)\ncall ordinary\njmp 1b\n");

static void test_endless_loop_ends_the_search(void **state)
{
	(void)state;
	expect_slots(loop_at, LIVENESS_DEAD, LIVENESS_READ, LIVENESS_DEAD);
	assert_int_equal(frame(loop_at).registers[RBX], LIVENESS_PASSED); /* by an exception */
}

extern const char tail_at[], stub_at[], last_at[];
__asm__(BEGIN(tail) ENTER CALL AT(tail) "addq $24, %rsp\n.cfi_adjust_cfa_offset -24\n"
					"jmp argument\n" END);
__asm__(BEGIN(stub) ENTER CALL AT(stub) "addq $24, %rsp\n.cfi_adjust_cfa_offset -24\n"
					"jmp getpid@PLT\n" END);
__asm__(BEGIN(argument) "movq 16(%rsp), %rax\n" AT(argument) "ret\n" END);
__asm__(BEGIN(last) ENTER "leaq 16(%rsp), %rdi\n" CALL AT(last) END);

static void test_tail_jump_leaves_the_frame(void **state)
{
	(void)state;
	expect_slots(tail_at, LIVENESS_DEAD, LIVENESS_DEAD, LIVENESS_DEAD);
	expect_slots(stub_at, LIVENESS_DEAD, LIVENESS_DEAD, LIVENESS_DEAD);
	assert_int_equal(frame(tail_at).registers[RBX], LIVENESS_PASSED);
	assert_int_equal(frame(stub_at).registers[RBX], LIVENESS_PASSED);
}

static void test_tail_callee_reads_stack_arguments(void **state)
{
	(void)state;
	assert_int_equal(slot(tail_at, 0), LIVENESS_DEAD);
	assert_int_equal(slot(tail_at, 8), LIVENESS_READ);
	assert_int_equal(slot(stub_at, 8), LIVENESS_UNKNOWN);
}

static void test_frame_after_last_call_is_dead_unless_its_address_is_taken(void **state)
{
	(void)state;
	expect_slots(last_at, LIVENESS_DEAD, LIVENESS_DEAD, LIVENESS_UNKNOWN);
	assert_int_equal(frame(last_at).registers[RBX], LIVENESS_PASSED); /* by an exception */
}

/* In .text.unlikely, like compilers. */
FUNCTION(hot, "testl %eax, %eax\njne hot_cold\n");
__asm__(".section .text.unlikely, \"ax\", @progbits\nhot_cold:\n.cfi_startproc\n"
	".cfi_def_cfa_offset 32\nmovq (%rsp), %rdi\nmovq %rbx, %rsi\ncall ordinary\n"
	".globl hot_cold_at\n.hidden hot_cold_at\nhot_cold_at:\nud2\n.cfi_endproc\n.text\n");
FUNCTION(mismatch, "testl %eax, %eax\njne other_cold\n");
__asm__(".section .text.unlikely, \"ax\", @progbits\nother_cold:\n.cfi_startproc\n"
	".cfi_def_cfa_offset 48\nud2\n.cfi_endproc\n.text\n");
extern const char hot_cold_at[];

static void test_cold_part_is_followed(void **state)
{
	(void)state;
	expect_slots(hot_at, LIVENESS_READ, LIVENESS_DEAD, LIVENESS_DEAD);
	assert_int_equal(frame(hot_at).registers[RBX], LIVENESS_READ);
	assert_int_equal(frame(hot_at).registers[R12], LIVENESS_PASSED);
}

static void test_jump_to_another_frame_is_unknown(void **state)
{
	(void)state;
	assert_int_equal(slot(mismatch_at, -32), LIVENESS_UNKNOWN);
}

static void test_slots_of_a_stopped_cold_part_are_unknown(void **state)
{
	(void)state;
	assert_true(frame(hot_cold_at).known);
	assert_int_equal(slot(hot_cold_at, -16), LIVENESS_UNKNOWN);
}

extern const char catcher_at[], thrower_at[];
__asm__(".section .gcc_except_table, \"a\", @progbits\n"
	"catcher_lsda:\n.byte 0xff, 0xff, 1\n.uleb128 2f-1f\n1:\n"
	".uleb128 catcher_call-catcher\n.uleb128 5\n.uleb128 catcher_pad-catcher\n.uleb128 0\n2:\n"
	"thrower_lsda:\n.byte 0xff, 0xff, 1\n.uleb128 2f-1f\n1:\n"
	".uleb128 0\n.uleb128 thrower_at-thrower\n.uleb128 thrower_pad-thrower\n.uleb128 0\n2:\n");
__asm__(BEGIN(catcher) ".cfi_personality 0x1b, ordinary\n.cfi_lsda 0x1b, catcher_lsda\n" ENTER AT(
	catcher) "catcher_call:\n" CALL LEAVE "catcher_pad:\n.cfi_adjust_cfa_offset 24\nmovq "
		 "(%rsp), %rdi\nmovq %rbx, %rsi\nud2\n" END);
__asm__(BEGIN(thrower) ".cfi_personality 0x1b, ordinary\n.cfi_lsda 0x1b, thrower_lsda\n" ENTER
		       "jmp 1f\nthrower_pad:\nmovq 8(%rsp), %rdi\nud2\n1:\n" CALL AT(thrower) END);

static void test_exception_handler_is_followed(void **state)
{
	(void)state;
	expect_slots(catcher_at, LIVENESS_READ, LIVENESS_DEAD, LIVENESS_DEAD);
	assert_int_equal(frame(catcher_at).registers[RBX], LIVENESS_READ);
	assert_int_equal(frame(catcher_at).registers[R12], LIVENESS_PASSED);
}

static void test_pending_call_may_throw(void **state)
{
	(void)state;
	expect_slots(thrower_at, LIVENESS_DEAD, LIVENESS_READ, LIVENESS_DEAD);
}

/*
 * Frames.
 */

#define PUSH_RBP "pushq %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbp, -16\n"
#define MOV_RBP  "movq %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"

extern const char by_bp_at[], restored_at[], prologue_at[];
__asm__(BEGIN(by_bp) PUSH_RBP MOV_RBP "subq $32, %rsp\n" CALL AT(
	by_bp) "movq -16(%rbp), %rax\nleave\n.cfi_def_cfa %rsp, 8\nret\n" END);
__asm__(BEGIN(restored) PUSH_RBP MOV_RBP
	"pushq %rbx\n.cfi_offset %rbx, -24\nsubq $24, %rsp\n" CALL AT(
		restored) "addq $24, %rsp\npopq %rbx\npopq %rbp\n.cfi_def_cfa %rsp, 8\nret\n" END);
__asm__(BEGIN(prologue) PUSH_RBP AT(prologue) MOV_RBP
	"movq %rbx, -8(%rbp)\nmovq -8(%rbp), %rbx\npopq %rbp\n.cfi_def_cfa %rsp, 8\nret\n" END);

static void test_frame_pointer_is_the_base(void **state)
{
	struct frame_liveness by_bp = frame(by_bp_at);

	(void)state;
	assert_true(by_bp.known);
	assert_true(by_bp.cfa_from_bp);
	assert_int_equal(by_bp.cfa_offset, 16);
	assert_int_equal(by_bp.saved[RBP], -16);
	assert_int_equal(slot(by_bp_at, -16), LIVENESS_READ);
	assert_int_equal(slot(by_bp_at, -32), LIVENESS_READ);
	assert_int_equal(slot(by_bp_at, -24), LIVENESS_DEAD);
	assert_int_equal(slot(by_bp_at, -40), LIVENESS_DEAD);
}

static void test_stack_pointer_is_tracked_beside_a_frame_pointer(void **state)
{
	(void)state;
	assert_int_equal(slot(restored_at, -24), LIVENESS_READ);
	assert_int_equal(slot(restored_at, -32), LIVENESS_DEAD);
	assert_int_equal(slot(restored_at, -48), LIVENESS_DEAD);
	assert_int_equal(frame(restored_at).registers[RBX], LIVENESS_DEAD);
}

/* restored never reads %rbp after the call, but an exception that the call throws would. */
static void test_frame_pointer_that_is_the_base_is_read(void **state)
{
	(void)state;
	assert_int_equal(frame(restored_at).registers[RBP], LIVENESS_READ);
}

static void test_frame_interrupted_in_its_prologue(void **state)
{
	uint64_t offset = offset_of(prologue_at);
	struct frame_liveness frame;

	(void)state;
	liveness_frame(liveness, offset, true, &frame);
	assert_true(frame.known);
	assert_false(frame.cfa_from_bp);
	assert_int_equal(frame.cfa_offset, 16);
	assert_int_equal(frame.saved[RBP], -16);
	assert_int_equal(frame.registers[RBX], LIVENESS_READ);
	assert_int_equal(liveness_slot(liveness, offset, true, -16), LIVENESS_READ);
	assert_int_equal(liveness_slot(liveness, offset, true, -24), LIVENESS_DEAD);
}

extern const char argument_at[];

static void test_stack_argument_is_read(void **state)
{
	uint64_t start = offset_of(argument_at) - 5;

	(void)state;
	assert_int_equal(liveness_slot(liveness, start, true, 8), LIVENESS_READ);
	assert_int_equal(liveness_slot(liveness, start, true, 0), LIVENESS_DEAD);
	assert_int_equal(slot(argument_at, 8), LIVENESS_DEAD);
}

extern const char pushing_at[], passing_at[];
__asm__(BEGIN(pushing) ENTER "pushq %rdi\n.cfi_adjust_cfa_offset 8\n" AT(pushing) CALL
	"popq %rcx\n.cfi_adjust_cfa_offset -8\n" LEAVE END);
__asm__(BEGIN(passing) ENTER "pushq %rdi\n.cfi_adjust_cfa_offset 8\n" AT(passing) CALL
	"addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n" CALL LEAVE END);

/* Where it stops, the call is still to come. */
static void test_argument_of_a_later_call_is_not_dead(void **state)
{
	(void)state;
	assert_int_equal(liveness_slot(liveness, offset_of(passing_at), true, -40),
			 LIVENESS_UNKNOWN);
	assert_int_equal(liveness_slot(liveness, offset_of(passing_at), true, -32), LIVENESS_DEAD);
	assert_int_equal(liveness_slot(liveness, offset_of(pushing_at), true, -40), LIVENESS_READ);
	assert_int_equal(liveness_slot(liveness, offset_of(passing_at) + 5, false, -40),
			 LIVENESS_DEAD);
}

/*
 * Code that is not analysed.
 */

extern const char handlers_at[], signal_at[], expression_at[], undecodable_at[], saved_sp_at[];
__asm__(BEGIN(handlers) ".cfi_personality 0x1b, ordinary\n.cfi_lsda 0x1b, ordinary\n" ENTER CALL
		AT(handlers) LEAVE END);
__asm__(BEGIN(signal) ".cfi_signal_frame\n" ENTER CALL AT(signal) LEAVE END);
__asm__(BEGIN(expression) ENTER ".cfi_escape 0x0f, 3, 0x77, 32, 0x06\n" CALL AT(expression)
		LEAVE END);
FUNCTION(undecodable, "jmp 1f\n.byte 0x06\n1:\n");
FUNCTION(saved_sp, "movq %rsp, (%rdi)\n");
FUNCTION(twice, "call _setjmp@PLT\n");
FUNCTION(twice_by_pointer, "call *_setjmp@GOTPCREL(%rip)\n");
FUNCTION(twice_local, "call local_setjmp\n");
FUNCTION(thunk, "call local_thunk\n");
__asm__(".text\nlocal_setjmp:\n.cfi_startproc\nmovq %rbx, (%rdi)\nmovq (%rsp), %rax\n"
	"movq %rax, 8(%rdi)\nxorl %eax, %eax\nret\n.cfi_endproc\n"
	"local_thunk:\n.cfi_startproc\nmovq (%rsp), %rbx\nret\n.cfi_endproc\n");

static void test_code_without_fde_is_unknown(void **state)
{
	(void)state;
	assert_false(frame(bare_function_at).known);
	assert_int_equal(slot(bare_function_at, -16), LIVENESS_UNKNOWN);
	assert_int_equal(liveness_slot(liveness, 1ULL << 40, false, -16), LIVENESS_UNKNOWN);
}

static void test_unusual_functions_are_unknown(void **state)
{
	static const char *const sites[] = {
		handlers_at, signal_at, expression_at,       undecodable_at,
		saved_sp_at, twice_at,  twice_by_pointer_at, twice_local_at,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		if (frame(sites[i]).known)
			fail_msg("site %zu is known", i);
		expect_slots(sites[i], LIVENESS_UNKNOWN, LIVENESS_UNKNOWN, LIVENESS_UNKNOWN);
	}
	assert_true(frame(thunk_at).known);
}

static void test_unknown_function_is_unwound_by_its_rows(void **state)
{
	struct frame_liveness unknown = frame(twice_at);

	(void)state;
	assert_true(unknown.unwound);
	assert_false(unknown.known);
	assert_int_equal(unknown.cfa_offset, frame(thunk_at).cfa_offset);
	assert_memory_equal(unknown.saved, frame(thunk_at).saved, sizeof(unknown.saved));
	assert_int_equal(unknown.registers[RBX], LIVENESS_UNKNOWN);
	assert_false(frame(signal_at).unwound);
	assert_false(frame(expression_at).unwound);
	assert_false(frame(bare_function_at).unwound);
}

static void test_extreme_offsets_are_unknown(void **state)
{
	(void)state;
	assert_int_equal(slot(unwritten_at, INT32_MIN), LIVENESS_UNKNOWN);
	assert_int_equal(slot(unwritten_at, INT32_MAX), LIVENESS_UNKNOWN);
}

static int open_module(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct error err;

	(void)state;
	if (liveness_open(fd, &liveness, &err))
		fail_msg("%s", err.text);
	return close(fd);
}

static int close_module(void **state)
{
	(void)state;
	liveness_close(liveness);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slot_never_written_is_dead),
		cmocka_unit_test(test_slot_read_on_one_branch_is_read),
		cmocka_unit_test(test_slot_written_before_read_is_dead),
		cmocka_unit_test(test_slot_partly_written_is_read),
		cmocka_unit_test(test_slot_written_on_one_branch_or_modified_is_read),
		cmocka_unit_test(test_slot_at_or_above_taken_address_is_not_dead),
		cmocka_unit_test(test_slot_only_written_below_taken_address_is_not_dead),
		cmocka_unit_test(test_frame_of_copied_stack_pointer_is_not_dead),
		cmocka_unit_test(test_slot_below_stack_pointer_is_dead),
		cmocka_unit_test(test_saved_registers_are_reported),
		cmocka_unit_test(test_register_is_read_overwritten_or_passed),
		cmocka_unit_test(test_zeroing_is_no_read_and_partial_write_is_no_kill),
		cmocka_unit_test(test_callee_without_fde_may_read_registers),
		cmocka_unit_test(test_indirect_jump_is_unknown),
		cmocka_unit_test(test_jump_into_an_instruction_is_unknown),
		cmocka_unit_test(test_endless_loop_ends_the_search),
		cmocka_unit_test(test_tail_jump_leaves_the_frame),
		cmocka_unit_test(test_tail_callee_reads_stack_arguments),
		cmocka_unit_test(test_frame_after_last_call_is_dead_unless_its_address_is_taken),
		cmocka_unit_test(test_cold_part_is_followed),
		cmocka_unit_test(test_jump_to_another_frame_is_unknown),
		cmocka_unit_test(test_slots_of_a_stopped_cold_part_are_unknown),
		cmocka_unit_test(test_exception_handler_is_followed),
		cmocka_unit_test(test_pending_call_may_throw),
		cmocka_unit_test(test_frame_pointer_is_the_base),
		cmocka_unit_test(test_stack_pointer_is_tracked_beside_a_frame_pointer),
		cmocka_unit_test(test_frame_pointer_that_is_the_base_is_read),
		cmocka_unit_test(test_frame_interrupted_in_its_prologue),
		cmocka_unit_test(test_stack_argument_is_read),
		cmocka_unit_test(test_argument_of_a_later_call_is_not_dead),
		cmocka_unit_test(test_code_without_fde_is_unknown),
		cmocka_unit_test(test_unusual_functions_are_unknown),
		cmocka_unit_test(test_unknown_function_is_unwound_by_its_rows),
		cmocka_unit_test(test_extreme_offsets_are_unknown),
	};

	return cmocka_run_group_tests(tests, open_module, close_module);
}

#else

static void test_x86_only(void **state)
{
	(void)state;
	print_message("skipped: the functions are x86-64 assembly\n");
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_x86_only)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
