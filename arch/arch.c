/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/arch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct arch *const known[] = {&arch_x86_64, &arch_i386, &arch_arm, &arch_arm64,
					   &arch_powerpc};

const struct arch *arch_of_set(size_t size)
{
	for (size_t i = 0; i < COUNT(known); i++)
		if (known[i]->set_size == size)
			return known[i];
	return NULL;
}

const struct arch *arch_of_machine(int machine)
{
	for (size_t i = 0; i < COUNT(known); i++)
		if (known[i]->machine == machine && known[i]->look)
			return known[i];
	return NULL;
}

const struct arch *arch_native(bool narrow)
{
#if defined(__x86_64__)
	(void)narrow; /* registers of either kind come as those of 64 bits */
	return &arch_x86_64;
#elif defined(__i386__)
	return narrow ? &arch_i386 : NULL;
#elif defined(__aarch64__)
	return narrow ? &arch_arm : &arch_arm64;
#elif defined(__arm__)
	return narrow ? &arch_arm : NULL;
#elif defined(__powerpc__) && !defined(__powerpc64__)
	return narrow ? &arch_powerpc : NULL;
#else
	(void)narrow;
	return NULL;
#endif
}
