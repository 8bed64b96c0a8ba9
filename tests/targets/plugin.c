/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that dlopener loads, uses and unloads. Its caller keeps the books. */
#include <stdlib.h>

void *t_plugin(size_t size);

__attribute__((noinline)) void *t_plugin(size_t size)
{
	return malloc(size);
}
