/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library that dlopener loads, uses and unloads. Its caller counts the calls. rawcode maps it
 * without linking it: t_call needs only its argument.
 */
#include <stdlib.h>

void *t_plugin(size_t size);
void t_call(void (*function)(void));

__attribute__((noinline)) void *t_plugin(size_t size)
{
	return malloc(size);
}

__attribute__((noinline)) void t_call(void (*function)(void))
{
	function();
	__asm__ volatile("" : : : "memory"); /* no tail call */
}
