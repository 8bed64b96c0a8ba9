/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves the page of libc that malloc lies on to anonymous memory, as programs do that want their
 * code on huge pages. No breakpoint can be there: the kernel places them in files. Says READY and
 * mallocs for each byte that it reads; ends at a q.
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
