/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access to the symbols and code of a module's ELF file. Files are untrusted: anything that lies
 * outside the file is treated as absent.
 */
#ifndef MTRACE_SYMBOL_ELF_IMAGE_H
#define MTRACE_SYMBOL_ELF_IMAGE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "symbol/elf/module.h"

struct elf_image {
	const struct module *module;
	Elf *elf;
};

struct elf_symbol {
	const char *name; /* may end with @VERSION; valid as long as the image */
	GElf_Sym raw;
	bool dynamic; /* from .dynsym */
};

/* Returns 0, or -ENOEXEC and sets *err. The module must outlive the image. */
int elf_image_open(struct elf_image *image, const struct module *module, struct error *err);
void elf_image_close(struct elf_image *image);

/* The next section of a type (SHT_…) after `section` (NULL: the first one), or NULL. */
Elf_Scn *elf_image_section(const struct elf_image *image, Elf_Scn *section, uint32_t type,
			   GElf_Shdr *ret_header);

/* Reads a symbol of a symbol table. Returns false past the last one and for an unreadable one. */
bool elf_image_symbol(const struct elf_image *image, const GElf_Shdr *header, Elf_Data *data,
		      size_t index, struct elf_symbol *ret_symbol);
size_t elf_image_symbol_count(const GElf_Shdr *header, const Elf_Data *data);

/* Returns true for a defined function with global or weak binding. */
bool elf_symbol_is_function(const struct elf_symbol *symbol);

/* Returns true for a defined function of any binding. */
bool elf_symbol_is_defined_function(const struct elf_symbol *symbol);

/* Returns true if the file has a PT_INTERP, so that it needs a dynamic linker. */
bool elf_image_has_interpreter(const struct elf_image *image);

/* Converts a virtual address of code to a file offset. Returns 0 or -ENOENT. */
int elf_image_code_offset(const struct elf_image *image, uint64_t vaddr, uint64_t *ret_offset);

/*
 * Reads at most `size` bytes of code at a virtual address. Returns a buffer that the caller frees,
 * and its length, or NULL.
 */
uint8_t *elf_image_code(const struct elf_image *image, uint64_t vaddr, size_t size,
			size_t *ret_size);

/* The address of the next function symbol above vaddr, or UINT64_MAX. */
uint64_t elf_image_next_function(const struct elf_image *image, uint64_t vaddr);

#endif
