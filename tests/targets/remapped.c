/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves the page of libc that contains malloc to anonymous memory, like programs that want their
 * code on huge pages. The kernel places breakpoints in files, so none can be there. Prints READY,
 * and calls malloc for each byte that it reads; exits at a q.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

static void move_page(void *code)
{
	void *page = (void *)((uintptr_t)code & ~(PAGE - 1));
	void *copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		abort();
	memcpy(copy, page, PAGE);
	if (mprotect(copy, PAGE, PROT_READ | PROT_EXEC) ||
	    mremap(copy, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page) != page)
		abort();
}

int main(void)
{
	char line;

	move_page((void *)malloc);
	if (write(STDOUT_FILENO, "READY\n", 6) != 6)
		return 1;
	while (read(STDIN_FILENO, &line, 1) == 1 && line != 'q')
		free(malloc(100));
	return 0;
}
