/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/gate.h"

const struct arch_gate *arch_gate(uint16_t machine, bool is_32bit)
{
	(void)machine;
	(void)is_32bit;
	return NULL;
}
