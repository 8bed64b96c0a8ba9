// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For builds without libdw (WITH_DWARF=0), for small machines: function names come from the
 * module's own symbol tables, stay mangled, and have no lines.
 */
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>

#include "symbol/names/module_names.h"
#include "symbol/names/symbol_index.h"

struct module_names {
	Elf *elf;
	struct symbol_index *symbols;
};

void module_names_close(struct module_names *names)
{
	if (!names)
		return;
	symbol_index_free(names->symbols);
	elf_end(names->elf);
	free(names);
}

static int add_table(struct module_names *names, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	int count = data && header->sh_entsize ? (int)(data->d_size / header->sh_entsize) : 0;
	struct symbol_entry entry = {.elf = names->elf};

	for (int i = 0; i < count && gelf_getsym(data, i, &entry.symbol); i++) {
		entry.name = elf_strptr(names->elf, header->sh_link, entry.symbol.st_name);
		entry.address = entry.symbol.st_value;
		entry.section = entry.symbol.st_shndx;
		if (symbol_index_add(names->symbols, &entry))
			return -ENOMEM;
	}
	return 0;
}

static int add_tables(struct module_names *names)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int err = 0;

	while (!err && (section = elf_nextscn(names->elf, section)))
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			err = add_table(names, section, &header);
	return err;
}

static bool open_tables(struct module_names *names, const struct module *module)
{
	elf_version(EV_CURRENT);
	names->elf = elf_begin(module->fd, ELF_C_READ, NULL);
	names->symbols = symbol_index_new();
	return names->elf && names->symbols && !add_tables(names);
}

struct module_names *module_names_open(const struct module *module,
				       const struct symbolizer_config *config)
{
	struct module_names *names = calloc(1, sizeof(*names));

	(void)config;
	if (!names)
		return NULL;
	if (!open_tables(names, module)) {
		module_names_close(names);
		return NULL;
	}
	symbol_index_sort(names->symbols);
	return names;
}

size_t module_names_at(struct module_names *names, uint64_t vaddr, struct symbol_name *ret_names,
		       size_t max)
{
	(void)max;
	*ret_names = (struct symbol_name){.function = symbol_index_find(names->symbols, vaddr)};
	return ret_names->function != NULL;
}
