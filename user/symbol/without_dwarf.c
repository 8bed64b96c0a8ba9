// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the program is built without libdw (WITH_DWARF=0), for machines with little room: names of
 * functions as the module's own symbol tables have them, mangled, and no lines.
 */
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>

#include "base/vec.h"
#include "symbol/symbol_index.h"
#include "symbol/symbolizer.h"

struct module_names {
	bool is_open; /* tried, with or without success */
	Elf *elf;
	struct symbol_index *symbols; /* NULL: none is known */
};

struct symbolizer {
	VEC(struct module_names) modules; /* by id */
};

int symbolizer_new(struct symbolizer **ret_symbolizer, const struct symbolizer_config *config)
{
	(void)config;
	*ret_symbolizer = calloc(1, sizeof(**ret_symbolizer));
	return *ret_symbolizer ? 0 : -ENOMEM;
}

static void module_names_close(struct module_names *names)
{
	symbol_index_free(names->symbols);
	elf_end(names->elf);
	*names = (struct module_names){.is_open = true};
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	struct module_names *names;

	if (!symbolizer)
		return;
	vec_each (names, &symbolizer->modules)
		module_names_close(names);
	vec_free(&symbolizer->modules);
	free(symbolizer);
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

static void module_names_open(struct module_names *names, const struct module *module)
{
	elf_version(EV_CURRENT);
	names->is_open = true;
	names->elf = elf_begin(module->fd, ELF_C_READ, NULL);
	names->symbols = symbol_index_new();
	if (!names->elf || !names->symbols || add_tables(names))
		module_names_close(names);
	else
		symbol_index_sort(names->symbols);
}

/* NULL if there is no memory. */
static struct module_names *module_names_get(struct symbolizer *symbolizer,
					     const struct module *module)
{
	struct module_names *names;

	while (symbolizer->modules.count <= module->id)
		if (vec_push(&symbolizer->modules, (struct module_names){0}))
			return NULL;
	names = &symbolizer->modules.items[module->id];
	if (!names->is_open)
		module_names_open(names, module);
	return names;
}

size_t symbolizer_names(struct symbolizer *symbolizer, const struct module *module, uint64_t offset,
			struct symbol_name *ret_names, size_t max)
{
	const struct module_names *names;
	uint64_t vaddr;

	if (!max || !offset || module_offset_to_vaddr(module, offset - 1, &vaddr))
		return 0;
	names = module_names_get(symbolizer, module);
	if (!names || !names->symbols)
		return 0;
	*ret_names = (struct symbol_name){.function = symbol_index_find(names->symbols, vaddr)};
	return ret_names->function != NULL;
}
