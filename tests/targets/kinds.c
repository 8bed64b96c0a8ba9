/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kinds KIND…: for each KIND, allocate one block that a leak scan puts into that class: definite,
 * possible or reachable. Print READY and return from main. Nothing else is live at the end.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define SIZE     48

static char *volatile held[2];

NOINLINE static char *t_definite(void)
{
	return calloc(1, SIZE);
}

NOINLINE static char *t_possible(void)
{
	return calloc(1, SIZE);
}

NOINLINE static char *t_reachable(void)
{
	return calloc(1, SIZE);
}

NOINLINE static int allocate(const char *kind)
{
	if (!strcmp(kind, "definite"))
		return !t_definite();
	if (!strcmp(kind, "possible"))
		held[0] = t_possible() + SIZE - 1;
	else if (!strcmp(kind, "reachable"))
		held[1] = t_reachable();
	else
		return 1;
	return 0;
}

/* Overwrite what earlier calls left on the stack and in registers. */
NOINLINE static void forget(void)
{
	char stack[8192];
	int i;

	memset(stack, 0, sizeof(stack));
	__asm__ volatile("" : : "r"(stack) : "memory");
	for (i = 0; i < 8; i++)
		free(malloc(SIZE));
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (allocate(argv[i]))
			return 2;
	forget();
	return write(STDOUT_FILENO, "READY\n", 6) != 6;
}
