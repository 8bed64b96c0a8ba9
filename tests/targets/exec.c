/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exec [-t] PROGRAM [ARG...]: allocate, print the truth, and execute another program; with -t, a
 * thread other than the first one makes the exec.
 */
#include "truth.h"

#include <pthread.h>

NOINLINE static struct block t_before(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

static void *become(void *argument)
{
	char **argv = argument;

	execvp(argv[0], argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	int i, by_thread = argc > 1 && !strcmp(argv[1], "-t");
	pthread_t thread;

	for (i = 0; i < 20; i++)
		t_before(100);
	t_free(t_before(1000));
	truth_tell(STDOUT_FILENO, "");
	if (!argv[1 + by_thread])
		return 0;
	if (by_thread && !pthread_create(&thread, NULL, become, argv + 2))
		pthread_join(thread, NULL);
	become(argv + 1);
	return 1;
}
