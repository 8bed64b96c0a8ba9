/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocates and frees as fast as it can, until it is killed. At most one block is live. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	unsigned int state = 1;

	puts("ready");
	fflush(stdout);
	for (;;) {
		state = state * 1103515245 + 12345;
		volatile char *block = malloc(16 + (state >> 20) % 512);

		block[0] = 1;
		free((void *)block);
	}
}
