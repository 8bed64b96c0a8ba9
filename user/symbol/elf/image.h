/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A module's ELF file, for looking at symbols and code. Everything in it may lie; what leads
 * outside the file is simply not there.
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
	const char *name; /* may end with @VERSION; lives as long as the image */
	GElf_Sym raw;
	bool dynamic; /* of .dynsym */
};

/* 0 or -ENOEXEC with words. The module must outlive the image. */
int elf_image_open(struct elf_image *image, const struct module *module, struct error *err);
void elf_image_close(struct elf_image *image);

/* The next section of a type (SHT_…) behind `section` (NULL: the first), or NULL. */
Elf_Scn *elf_image_section(const struct elf_image *image, Elf_Scn *section, uint32_t type,
			   GElf_Shdr *ret_header);

/* Symbol `index` of a symbol table's data; false behind the last and for what cannot be read. */
bool elf_image_symbol(const struct elf_image *image, const GElf_Shdr *header, Elf_Data *data,
		      size_t index, struct elf_symbol *ret_symbol);
size_t elf_image_symbol_count(const GElf_Shdr *header, const Elf_Data *data);

/* Is it a defined function that other objects can call? */
bool elf_symbol_is_function(const struct elf_symbol *symbol);

/* Of any binding: is it a defined function? */
bool elf_symbol_is_defined_function(const struct elf_symbol *symbol);

/* Does the file ask for a dynamic linker? */
bool elf_image_has_interpreter(const struct elf_image *image);

/* Where a virtual address of code lies in the file. 0 or -ENOENT. */
int elf_image_code_offset(const struct elf_image *image, uint64_t vaddr, uint64_t *ret_offset);

/*
 * Read at most `size` bytes of code at a virtual address. Returns a buffer to be freed and how
 * many bytes there are, or NULL.
 */
uint8_t *elf_image_code(const struct elf_image *image, uint64_t vaddr, size_t size,
			size_t *ret_size);

/* The start of the function symbol next above vaddr, or UINT64_MAX. */
uint64_t elf_image_next_function(const struct elf_image *image, uint64_t vaddr);

#endif
