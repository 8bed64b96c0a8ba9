/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rawcode LIBRARY SYMBOL COUNT: maps the library's code with mmap, without the dynamic linker, as
 * custom loaders do. Then has a function in it, which calls its argument, call malloc COUNT times.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void (*call_function)(void (*function)(void));

static void take(void)
{
	void *volatile block = malloc(333);

	free(block);
}

static const Elf64_Shdr *section(const char *image, uint32_t type)
{
	const Elf64_Ehdr *header = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);

	for (int i = 0; i < header->e_shnum; i++)
		if (sections[i].sh_type == type)
			return &sections[i];
	abort();
}

/* For a library that is mapped as it is in its file: addresses are offsets. */
static uint64_t find_symbol(const char *image, const char *name)
{
	const Elf64_Ehdr *header = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
	const Elf64_Shdr *table = section(image, SHT_DYNSYM);
	const char *names = image + sections[table->sh_link].sh_offset;
	const Elf64_Sym *symbols = (const void *)(image + table->sh_offset);

	for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++)
		if (!strcmp(names + symbols[i].st_name, name))
			return symbols[i].st_value;
	abort();
}

int main(int argc, char **argv)
{
	struct stat status;
	call_function call;
	char *image;
	int fd;

	if (argc != 4)
		return 2;
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || fstat(fd, &status))
		return 1;
	image = (char *)syscall(SYS_mmap, NULL, (size_t)status.st_size, PROT_READ | PROT_EXEC,
				MAP_PRIVATE, fd, 0L);
	if (image == MAP_FAILED)
		return 1;
	call = (call_function)(uintptr_t)(image + find_symbol(image, argv[2]));
	for (int i = 0; i < atoi(argv[3]); i++)
		call(take);
	return 0;
}
