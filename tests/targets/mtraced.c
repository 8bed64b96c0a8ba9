/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps a log of itself by glibc's mtrace(), where libc_malloc_debug.so is preloaded. */
#include <mcheck.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *kept[16];

__attribute__((noinline)) static void t_leak(size_t i)
{
	kept[i] = malloc(100 + i);
}

__attribute__((noinline)) static void t_realloc(void)
{
	kept[4] = realloc(malloc(5), 2000);
	kept[5] = realloc(NULL, 30);
	kept[6] = realloc(malloc(7), SIZE_MAX / 4); /* fails, and keeps the block */
}

int main(void)
{
	char *text;

	mtrace();
	for (size_t i = 0; i < 3; i++)
		t_leak(i);
	t_realloc();
	text = strdup("hello");
	kept[7] = calloc(10, 20);
	kept[8] = malloc(SIZE_MAX / 4);
	kept[9] = aligned_alloc(64, 128);
	kept[10] = strdup("kept");
	free(text);
	free(kept[1]);
	return 0;
}
