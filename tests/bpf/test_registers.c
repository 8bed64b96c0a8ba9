// SPDX-License-Identifier: GPL-2.0-or-later
/* What BPF programs read of AArch64 registers: known contents, and what the tracer by ptrace reads.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "arch/arch.h"
#include "arch/unwind_row.h"

struct pt_regs;

#include "arch/arm64.bpf.h"
#include "tests/bpf/same_registers.h"

#define SIGNATURE (0x5a7fULL << 48)

static struct arm64_registers known(void)
{
	struct arm64_registers registers = {
		.sp = 0xfffff000, .pc = 0xaaaa0004, .pstate = 0x60000000};

	for (unsigned int i = 0; i < 31; i++)
		registers.x[i] = 0x1000 + i;
	return registers;
}

/* What the kernel gives a program of a probe begins like what ptrace gives (user ABI). */
static const struct pt_regs *as_context(const struct arm64_registers *registers)
{
	_Static_assert(sizeof(*registers) == 272, "31 registers, sp, pc, pstate");
	return (const struct pt_regs *)registers;
}

static void test_known_contents(void **state)
{
	const struct arm64_registers registers = known();
	const struct pt_regs *context = as_context(&registers);

	(void)state;
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(regs_argument(context, i), 0x1000 + i);
	assert_int_equal(regs_argument(context, 6), 0);
	assert_int_equal(regs_result(context), 0x1000);
	assert_int_equal(regs_bp(context), 0x101d);
	assert_int_equal(regs_link(context), 0x101e);
	assert_int_equal(regs_sp(context), 0xfffff000);
	assert_int_equal(regs_ip(context), 0xaaaa0004);
	assert_int_equal(regs_word(context), 8);
	assert_int_equal(regs_are_32bit(context), 0);
	assert_int_equal(regs_return_pops(context), 0);
}

/* A signed return address is recorded without its signature; other words are recorded whole. */
static void test_signature(void **state)
{
	struct arm64_registers registers = known();
	const struct pt_regs *context = as_context(&registers);

	(void)state;
	registers.x[30] = 0xffff12345678 | SIGNATURE;
	registers.x[0] = 0xb0000000c0000000;
	assert_int_equal(regs_link(context), 0xffff12345678);
	assert_int_equal(regs_argument(context, 0), 0xb0000000c0000000);
	assert_int_equal(regs_result(context), 0xb0000000c0000000);
	assert_int_equal(REGS_ADDRESS, REGS_UNWIND_ABI.ip_mask);
	assert_int_equal(REGS_USER_END, REGS_ADDRESS + 1);
}

static void test_as_by_ptrace(void **state)
{
	const struct arm64_registers set = known();
	const struct pt_regs *context = as_context(&set);
	struct arch_registers registers = {.arch = &arch_arm64};

	(void)state;
	arch_arm64.load(&registers, &set);
	assert_same_registers(&registers, context);
	assert_int_equal(arch_arm64.abi(false)->dwarf_bp, REGS_UNWIND_ABI.dwarf_bp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_contents),
		cmocka_unit_test(test_signature),
		cmocka_unit_test(test_as_by_ptrace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
