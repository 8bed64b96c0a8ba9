/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * many_mappings KIND [FILE]: maps the first page of one file as often as the kernel allows
 * (vm.max_map_count), less a few that allocators may need. The file is in memory: a copy of FILE,
 * or empty. KIND is r (readable), x (executable) or s (shared and writable). Prints READY, does one
 * allocation for each byte on standard input, and exits at its end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  ((size_t)4096)
#define SPARE 500
#define SIZE  1234

static void *volatile block;

static long mappings_allowed(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
	long count = 0;

	if (!file || fscanf(file, "%ld", &count) != 1)
		exit(1);
	fclose(file);
	return count - SPARE;
}

static void copy(int memory, const char *path)
{
	FILE *file = fopen(path, "r");
	char bytes[PAGE];
	size_t got;

	if (!file)
		exit(1);
	while ((got = fread(bytes, 1, sizeof(bytes), file)) > 0)
		if (write(memory, bytes, got) != (ssize_t)got)
			exit(1);
	fclose(file);
}

/* The kernel does not merge mappings of the same page. */
static void map_all(int memory, int protection, int flags)
{
	for (long left = mappings_allowed(); left > 0; left--)
		if (mmap(NULL, PAGE, protection, flags, memory, 0) == MAP_FAILED)
			exit(1);
}

static int protection_of(char kind)
{
	return PROT_READ | (kind == 'x' ? PROT_EXEC : 0) | (kind == 's' ? PROT_WRITE : 0);
}

int main(int argc, char **argv)
{
	int memory = memfd_create("many", 0);
	char byte;

	if (argc < 2 || memory < 0 || ftruncate(memory, (off_t)PAGE))
		return 1;
	if (argc > 2)
		copy(memory, argv[2]);
	map_all(memory, protection_of(*argv[1]), *argv[1] == 's' ? MAP_SHARED : MAP_PRIVATE);
	puts("READY");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) == 1)
		block = malloc(SIZE);
	return 0;
}
