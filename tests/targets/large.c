/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leaks 20 blocks of 1,000,000 bytes, whose addresses the allocator keeps with its other large
 * ones. */
#include <stdlib.h>

#define TIMES 20
#define SIZE  1000000

static void *volatile block;

static void t_leak(void)
{
	block = malloc(SIZE);
}

int main(void)
{
	for (int i = 0; i < TIMES; i++)
		t_leak();
	block = NULL;
	return 0;
}
