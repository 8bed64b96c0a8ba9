/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/gate.h"

#include <elf.h>

const struct arch_gate *arch_gate(uint16_t machine, bool is_32bit)
{
	return machine == EM_X86_64 && !is_32bit ? &gate_x86_64 : NULL;
}
