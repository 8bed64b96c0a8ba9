/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pushed: allocates below a function that was not called: its return address was pushed by hand. */
#include <stdlib.h>

void by_hand(void (*function)(void));

__asm__(".text\n"
	".globl by_hand\n"
	".type by_hand, @function\n"
	"by_hand:\n"
	".cfi_startproc\n"
	"	subq $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"	leaq 1f(%rip), %rax\n"
	"	pushq %rax\n"
	"	jmp *%rdi\n"
	"1:	addq $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size by_hand, . - by_hand\n");

static void take(void)
{
	void *volatile block = malloc(333);

	free(block);
}

static void inner(void)
{
	take();
}

int main(void)
{
	by_hand(inner);
	return 0;
}
