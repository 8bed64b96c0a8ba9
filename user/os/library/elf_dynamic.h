/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an ELF file asks of the dynamic linker. Read through the program headers, as the kernel and
 * the linker do: section headers may be stripped, or lie. The file is hostile input.
 */
#ifndef MTRACE_OS_LIBRARY_ELF_DYNAMIC_H
#define MTRACE_OS_LIBRARY_ELF_DYNAMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "os/library/string_list.h"

/* What two ELF files must have in common to be in one process. */
struct elf_identity {
	uint8_t word;     /* ELFCLASS32, ELFCLASS64 */
	uint8_t encoding; /* ELFDATA2LSB, ELFDATA2MSB */
	uint16_t machine; /* EM_… */
};

struct elf_dynamic {
	struct elf_identity identity;
	char *interpreter; /* PT_INTERP, or NULL: static */
	char *rpath;       /* DT_RPATH, or NULL; the linker ignores it where there is a runpath */
	char *runpath;     /* DT_RUNPATH, or NULL */
	struct string_list needed; /* DT_NEEDED, DT_FILTER and DT_AUXILIARY, in file order */
};

/* 0, -ENOEXEC if it is no ELF file, -errno. Reads the header only. */
int elf_identity_read(const char *path, struct elf_identity *ret_identity);
int elf_identity_read_fd(int fd, struct elf_identity *ret_identity);
bool elf_identity_equal(const struct elf_identity *a, const struct elf_identity *b);

/*
 * 0, -ENOEXEC if it is no ELF file or has no sound program headers, -errno. Whatever else is
 * corrupt is left out.
 */
int elf_dynamic_read(int fd, struct elf_dynamic *ret_dynamic);
void elf_dynamic_free(struct elf_dynamic *dynamic);

/* Who does that: elf_dynamic_read itself, or another process for us. `path` is for messages. */
struct elf_dynamic_reader {
	int (*read)(void *ctx, int fd, const char *path, struct elf_dynamic *ret_dynamic);
	void *ctx;
};

/* More than any real object has, and few enough for a hostile one not to cost us minutes. */
#define ELF_NEEDED_MAX 1024

#endif
