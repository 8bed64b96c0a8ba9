/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libraries FILE...: a process with these files mapped as if they had been loaded, without running
 * any of their code. Prints "ready" and their number, and runs until its standard input ends.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 64 /* program headers read */

static int map_segment(int fd, const Elf64_Phdr *segment)
{
	unsigned long slack = segment->p_offset % 4096;
	int rights = (segment->p_flags & PF_X ? PROT_EXEC : 0) | PROT_READ;

	return mmap(NULL, segment->p_filesz + slack, rights, MAP_PRIVATE, fd,
		    (off_t)(segment->p_offset - slack)) == MAP_FAILED;
}

static int map_library(const char *path)
{
	Elf64_Ehdr header;
	Elf64_Phdr segments[MOST];
	int fd = open(path, O_RDONLY | O_CLOEXEC), failed;
	ssize_t size;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phnum > MOST)
		return -1;
	size = (ssize_t)(header.e_phnum * sizeof(*segments));
	failed = pread(fd, segments, (size_t)size, (off_t)header.e_phoff) != size;
	for (int i = 0; i < header.e_phnum && !failed; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_filesz)
			failed = map_segment(fd, &segments[i]);
	close(fd);
	return failed ? -1 : 0;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++)
		count += !map_library(argv[i]);
	printf("ready %d\n", count);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
