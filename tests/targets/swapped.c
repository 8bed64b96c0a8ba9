/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * swapped pointer | block | untouched: a target for leak scans with pages that are not in memory.
 *
 *	pointer	 a page holds the only pointer to a block of 48 bytes, and is swapped out
 *	block	 nothing points to a block of 16 pages, and the first 8 are swapped out
 *	untouched  nothing points to a block of 16 pages, and none was ever written
 *
 * Starts when it reads a line. Prints READY, or NO SWAP if the kernel did not swap. At the end of
 * its input, it prints how many of the pages are in memory, and exits.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PAGE     4096u
#define PAGES    16
#define SIZE     48
#define TRIES    100

static void **page;
static uintptr_t hidden; /* the pages' address, in a form that is not recognised as a pointer */
static size_t page_count;

NOINLINE static void *t_pages(size_t count)
{
	void *pages = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	hidden = ~(uintptr_t)pages;
	page_count = count;
	return pages;
}

NOINLINE static void *t_kept(void)
{
	return malloc(SIZE);
}

/* Bits 63 and 62 of the pagemap entry: the page is in memory, or swapped out. */
static int page_is(uintptr_t address, int bit)
{
	uint64_t entry = 0;
	int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (file < 0 || pread(file, &entry, 8, (off_t)(address / PAGE * 8)) != 8)
		abort();
	close(file);
	return entry >> bit & 1;
}

static int count_present(void)
{
	int count = 0;

	for (size_t i = 0; i < page_count; i++)
		count += page_is(~hidden + i * PAGE, 63);
	return count;
}

static int swap_out(void *address, size_t count)
{
	for (int i = 0; i < TRIES; i++) {
		if (madvise(address, count * PAGE, MADV_PAGEOUT))
			return 0;
		if (page_is((uintptr_t)address, 62))
			return 1;
		usleep(10000);
	}
	return 0;
}

NOINLINE static int do_pointer(void)
{
	page = t_pages(1);
	page[0] = t_kept();
	return swap_out(page, 1);
}

NOINLINE static int do_block(void)
{
	char *block = t_pages(PAGES);

	memset(block, 'x', PAGES * PAGE);
	return swap_out(block, PAGES / 2);
}

NOINLINE static int do_untouched(void)
{
	return !!t_pages(PAGES);
}

/* Overwrites stale pointers to the blocks that earlier calls left on the stack. */
NOINLINE static void forget(void)
{
	char stack[8192];

	memset(stack, 0, sizeof(stack));
	__asm__ volatile("" : : "r"(stack) : "memory");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char byte;
	int done;

	if (read(0, &byte, 1) != 1)
		return 1;
	done = !strcmp(what, "pointer") ? do_pointer()
	       : !strcmp(what, "block") ? do_block()
					: do_untouched();
	forget();
	puts(done ? "READY" : "NO SWAP");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	printf("%d\n", count_present());
	fflush(stdout);
	_exit(0);
}
