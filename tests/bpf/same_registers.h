/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What BPF programs read of registers is what the tracer by ptrace reads. For the header of one
 * processor, which is included before. */
#ifndef MTRACE_TESTS_BPF_SAME_REGISTERS_H
#define MTRACE_TESTS_BPF_SAME_REGISTERS_H

static void assert_same_registers(struct arch_registers *registers, const struct pt_regs *context)
{
	const struct arch *arch = registers->arch;

	assert_int_equal(arch_get(registers, ARCH_IP), regs_ip(context));
	assert_int_equal(arch_get(registers, ARCH_SP), regs_sp(context));
	assert_int_equal(arch_get(registers, ARCH_BP), regs_bp(context));
	assert_int_equal(arch_get(registers, ARCH_RESULT), regs_result(context));
	assert_int_equal(arch_get(registers, ARCH_LINK), regs_link(context));
	for (unsigned int i = 0; i < 6; i++)
		assert_int_equal(arch->argument(registers, &arch_memory_of_zeros, i),
				 regs_argument(context, i));
	assert_int_equal(arch->links, REGS_LINKS);
	assert_int_equal(arch->guesses, REGS_GUESSES);
}

#endif
