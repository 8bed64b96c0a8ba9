// SPDX-License-Identifier: GPL-2.0-or-later
/* What BPF programs read of PowerPC's registers: known contents, and what the tracer by ptrace
 * reads.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "arch/arch.h"
#include "arch/unwind_row.h"

struct pt_regs;

#include "arch/powerpc.bpf.h"
#include "tests/bpf/same_registers.h"

static struct powerpc_registers known(void)
{
	struct powerpc_registers registers = {.nip = 0x10000404, .msr = 0x2d002, .lr = 0x10000508};

	for (unsigned int i = 0; i < 32; i++)
		registers.r[i] = 0xf0001000 + i * 16;
	return registers;
}

/* What the kernel gives a program of a probe begins like what ptrace gives (user ABI). */
static const struct pt_regs *as_context(const struct powerpc_registers *registers)
{
	_Static_assert(offsetof(struct powerpc_registers, r[3]) == 12, "the first argument");
	_Static_assert(offsetof(struct powerpc_registers, nip) == 128, "behind the 32 of them");
	_Static_assert(offsetof(struct powerpc_registers, lr) == 144, "behind ctr");
	return (const struct pt_regs *)registers;
}

static void test_known_contents(void **state)
{
	const struct powerpc_registers registers = known();
	const struct pt_regs *context = as_context(&registers);

	(void)state;
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(regs_argument(context, i), 0xf0001030 + i * 16);
	assert_int_equal(regs_argument(context, 6), 0);
	assert_int_equal(regs_result(context), 0xf0001030);
	assert_int_equal(regs_bp(context), 0xf00011f0);
	assert_int_equal(regs_link(context), 0x10000508);
	assert_int_equal(regs_sp(context), 0xf0001010);
	assert_int_equal(regs_ip(context), 0x10000404);
	assert_int_equal(regs_word(context), 4);
	assert_int_equal(regs_are_32bit(context), 1);
	assert_int_equal(regs_return_pops(context), 0);
}

static void test_as_by_ptrace(void **state)
{
	const struct powerpc_registers set = known();
	const struct pt_regs *context = as_context(&set);
	struct arch_registers registers = {.arch = &arch_powerpc};

	(void)state;
	arch_powerpc.load(&registers, &set);
	assert_same_registers(&registers, context);
	assert_int_equal(arch_powerpc.abi(true)->word, regs_word(context));
	assert_int_equal(arch_powerpc.abi(true)->ip_mask, REGS_ADDRESS);
	assert_int_equal(arch_powerpc.abi(true)->dwarf_bp, REGS_UNWIND_ABI.dwarf_bp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_contents),
		cmocka_unit_test(test_as_by_ptrace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
