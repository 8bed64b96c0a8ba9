/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an ELF file requests from the dynamic linker. It is read through the program headers, as the
 * kernel and the linker do, because section headers may be stripped or wrong. The file is untrusted
 * input.
 */
#ifndef MTRACE_OS_LIBRARY_ELF_DYNAMIC_H
#define MTRACE_OS_LIBRARY_ELF_DYNAMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "os/library/string_list.h"

/* What all ELF files in one process have in common. */
struct elf_identity {
	uint8_t word;     /* ELFCLASS32, ELFCLASS64 */
	uint8_t encoding; /* ELFDATA2LSB, ELFDATA2MSB */
	uint16_t machine; /* EM_… */
};

struct elf_dynamic {
	struct elf_identity identity;
	char *interpreter; /* PT_INTERP; NULL in a static program */
	char *rpath;       /* DT_RPATH, or NULL; the linker ignores it if there is a runpath */
	char *runpath;     /* DT_RUNPATH, or NULL */
	struct string_list needed; /* DT_NEEDED, DT_FILTER and DT_AUXILIARY, in file order */
};

/* Read only the header. Return 0, -ENOEXEC if it is not an ELF file, or -errno. */
int elf_identity_read(const char *path, struct elf_identity *ret_identity);
int elf_identity_read_fd(int fd, struct elf_identity *ret_identity);
bool elf_identity_equal(const struct elf_identity *a, const struct elf_identity *b);

/*
 * Reads the dynamic section. Skips corrupt entries. Returns 0, -ENOEXEC if it is not an ELF file or
 * its program headers are invalid, or -errno. Free the result with elf_dynamic_free.
 */
int elf_dynamic_read(int fd, struct elf_dynamic *ret_dynamic);
void elf_dynamic_free(struct elf_dynamic *dynamic);

/* Who reads the file: elf_dynamic_read itself, or another process. `path` is for messages. */
struct elf_dynamic_reader {
	int (*read)(void *ctx, int fd, const char *path, struct elf_dynamic *ret_dynamic);
	void *ctx;
};

/* More than any real object needs, and few enough that a malicious file cannot keep us busy for
 * minutes. */
#define ELF_NEEDED_MAX 1024

#endif
