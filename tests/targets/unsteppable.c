/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Defines valloc as code in which the kernel places no breakpoint (it refuses that prefix). Prints
 * READY, and after a byte on standard input makes CALLS calls of malloc and one of posix_memalign,
 * and exits.
 */
#include <stdlib.h>
#include <unistd.h>

#define CALLS 7

__asm__(".text\n"
	".globl valloc\n"
	".type valloc, @function\n"
	"valloc:\n"
	"	.byte 0x3e\n" /* ds */
	"	ret\n"
	".size valloc, . - valloc\n");

int main(void)
{
	void *aligned;
	char byte;

	if (write(STDOUT_FILENO, "READY\n", 6) != 6 || read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < CALLS; i++) {
		void *volatile block = malloc(100);

		free(block);
	}
	if (posix_memalign(&aligned, 64, 100))
		return 1;
	free(aligned);
	return 0;
}
