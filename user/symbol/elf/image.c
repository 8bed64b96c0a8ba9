// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/elf/image.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_table(const GElf_Shdr *header)
{
	return header->sh_type == SHT_SYMTAB || header->sh_type == SHT_DYNSYM ||
	       header->sh_type == SHT_REL || header->sh_type == SHT_RELA ||
	       header->sh_type == SHT_DYNAMIC;
}

/* Returns false if the tables together are more than twice as large as the file. That takes many
 * sections that share the same bytes, and libelf would copy those once per section. */
static bool is_bounded(const struct elf_image *image)
{
	Elf_Scn *section = NULL;
	struct stat status;
	uint64_t left;
	GElf_Shdr header;

	if (fstat(image->module->fd, &status))
		return false;
	left = 2 * (uint64_t)status.st_size;
	while ((section = elf_nextscn(image->elf, section))) {
		if (!gelf_getshdr(section, &header) || !is_table(&header))
			continue;
		if (header.sh_size > left)
			return false;
		left -= header.sh_size;
	}
	return true;
}

int elf_image_open(struct elf_image *image, const struct module *module, struct error *err)
{
	elf_version(EV_CURRENT);
	image->module = module;
	image->elf = elf_begin(module->fd, ELF_C_READ, NULL);
	if (!image->elf)
		return error_set(err, -ENOEXEC, "cannot read the symbols of %s: %s", module->path,
				 elf_errmsg(-1));
	if (is_bounded(image))
		return 0;
	elf_image_close(image);
	return error_set(err, -ENOEXEC, "cannot read the symbols of %s: its sections overlap",
			 module->path);
}

void elf_image_close(struct elf_image *image)
{
	elf_end(image->elf);
	image->elf = NULL;
}

Elf_Scn *elf_image_section(const struct elf_image *image, Elf_Scn *section, uint32_t type,
			   GElf_Shdr *ret_header)
{
	while ((section = elf_nextscn(image->elf, section)))
		if (gelf_getshdr(section, ret_header) && ret_header->sh_type == type)
			return section;
	return NULL;
}

size_t elf_image_symbol_count(const GElf_Shdr *header, const Elf_Data *data)
{
	return data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
}

bool elf_image_symbol(const struct elf_image *image, const GElf_Shdr *header, Elf_Data *data,
		      size_t index, struct elf_symbol *ret_symbol)
{
	if (index > INT32_MAX || !gelf_getsym(data, (int)index, &ret_symbol->raw))
		return false;
	ret_symbol->name = elf_strptr(image->elf, header->sh_link, ret_symbol->raw.st_name);
	ret_symbol->dynamic = header->sh_type == SHT_DYNSYM;
	return ret_symbol->name;
}

static bool is_function_type(const GElf_Sym *symbol)
{
	unsigned char type = GELF_ST_TYPE(symbol->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

bool elf_symbol_is_defined_function(const struct elf_symbol *symbol)
{
	return is_function_type(&symbol->raw) && symbol->raw.st_shndx != SHN_UNDEF &&
	       symbol->raw.st_shndx != SHN_ABS;
}

bool elf_symbol_is_function(const struct elf_symbol *symbol)
{
	unsigned char binding = GELF_ST_BIND(symbol->raw.st_info);

	return elf_symbol_is_defined_function(symbol) &&
	       (binding == STB_GLOBAL || binding == STB_WEAK);
}

bool elf_image_has_interpreter(const struct elf_image *image)
{
	size_t count = 0;
	GElf_Phdr header;

	if (elf_getphdrnum(image->elf, &count))
		return false;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++)
		if (gelf_getphdr(image->elf, (int)i, &header) && header.p_type == PT_INTERP)
			return true;
	return false;
}

static const struct module_segment *code_segment(const struct elf_image *image, uint64_t vaddr)
{
	const struct module *module = image->module;

	for (size_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segments[i];

		if (segment->executable && vaddr >= segment->vaddr &&
		    vaddr - segment->vaddr < segment->size)
			return segment;
	}
	return NULL;
}

int elf_image_code_offset(const struct elf_image *image, uint64_t vaddr, uint64_t *ret_offset)
{
	const struct module_segment *segment = code_segment(image, vaddr);

	if (!segment)
		return -ENOENT;
	*ret_offset = vaddr - segment->vaddr + segment->offset;
	return 0;
}

uint8_t *elf_image_code(const struct elf_image *image, uint64_t vaddr, size_t size,
			size_t *ret_size)
{
	const struct module_segment *segment = code_segment(image, vaddr);
	uint64_t skip;
	uint8_t *code;
	ssize_t got;

	if (!segment)
		return NULL;
	skip = vaddr - segment->vaddr;
	if (size > segment->size - skip)
		size = segment->size - skip;
	code = malloc(size ? size : 1);
	if (!code)
		return NULL;
	got = pread(image->module->fd, code, size, (off_t)(segment->offset + skip));
	if (got <= 0) {
		free(code);
		return NULL;
	}
	*ret_size = (size_t)got;
	return code;
}

static uint64_t next_in_table(const struct elf_image *image, Elf_Scn *section,
			      const GElf_Shdr *header, uint64_t vaddr)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = elf_image_symbol_count(header, data);
	uint64_t next = UINT64_MAX;
	struct elf_symbol symbol;

	for (size_t i = 0; i < count; i++)
		if (elf_image_symbol(image, header, data, i, &symbol) &&
		    is_function_type(&symbol.raw) && symbol.raw.st_value > vaddr &&
		    symbol.raw.st_value < next)
			next = symbol.raw.st_value;
	return next;
}

uint64_t elf_image_next_function(const struct elf_image *image, uint64_t vaddr)
{
	static const uint32_t types[] = {SHT_DYNSYM, SHT_SYMTAB};
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		Elf_Scn *section = NULL;
		GElf_Shdr header;

		while ((section = elf_image_section(image, section, types[i], &header))) {
			uint64_t found = next_in_table(image, section, &header, vaddr);

			next = found < next ? found : next;
		}
	}
	return next;
}
