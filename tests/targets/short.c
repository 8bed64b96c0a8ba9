/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A life so short that it is over before anyone looks: its symbols must be known all the same. */
#include "truth.h"

NOINLINE static struct block t_short(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

int main(void)
{
	t_short(11);
	t_free(t_short(22));
	t_short(33);
	truth_tell(STDOUT_FILENO, "");
	_exit(7);
}
