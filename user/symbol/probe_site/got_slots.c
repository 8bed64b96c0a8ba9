// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/probe_site/got_slots.h"

#include <stdlib.h>

#define SLOTS_MAX (1 << 16) /* bounds hostile files; no allocator has this many */

static int take_relocation(struct got_slots *slots, const struct elf_image *image,
			   const GElf_Shdr *symbols, Elf_Data *symbol_data, const GElf_Rela *reloc)
{
	struct elf_symbol symbol;
	size_t index = GELF_R_SYM(reloc->r_info);

	if (!index || slots->list.count >= SLOTS_MAX ||
	    !elf_image_symbol(image, symbols, symbol_data, index, &symbol) ||
	    !elf_symbol_is_defined_function(&symbol))
		return 0;
	return vec_push(&slots->list, (struct got_slot){.address = reloc->r_offset,
							.function = symbol.raw.st_value});
}

static bool get_relocation(Elf_Data *data, uint32_t type, size_t index, GElf_Rela *ret_reloc)
{
	GElf_Rel plain;

	if (index > INT32_MAX)
		return false;
	if (type == SHT_RELA)
		return gelf_getrela(data, (int)index, ret_reloc);
	if (!gelf_getrel(data, (int)index, &plain))
		return false;
	*ret_reloc = (GElf_Rela){.r_offset = plain.r_offset, .r_info = plain.r_info};
	return true;
}

static int read_section(struct got_slots *slots, const struct elf_image *image, Elf_Scn *section,
			const GElf_Shdr *header)
{
	Elf_Scn *symbol_section = elf_getscn(image->elf, header->sh_link);
	Elf_Data *data = elf_getdata(section, NULL);
	Elf_Data *symbol_data = elf_getdata(symbol_section, NULL);
	GElf_Shdr symbols;
	GElf_Rela reloc;
	int code = 0;

	if (!data || !symbol_data || !gelf_getshdr(symbol_section, &symbols) ||
	    symbols.sh_type != SHT_DYNSYM)
		return 0;
	for (size_t i = 0; !code && get_relocation(data, header->sh_type, i, &reloc); i++)
		code = take_relocation(slots, image, &symbols, symbol_data, &reloc);
	return code;
}

static uint64_t read_base(const struct elf_image *image)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_image_section(image, NULL, SHT_DYNAMIC, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Dyn entry;

	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
		if (entry.d_tag == DT_PLTGOT)
			return entry.d_un.d_ptr;
	return 0;
}

static int compare_slots(const void *a, const void *b)
{
	const struct got_slot *one = a, *other = b;

	return (one->address > other->address) - (one->address < other->address);
}

int got_slots_read(struct got_slots *slots, const struct elf_image *image)
{
	static const uint32_t types[] = {SHT_RELA, SHT_REL};
	int code = 0;

	slots->base = read_base(image);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		Elf_Scn *section = NULL;
		GElf_Shdr header;

		while (!code && (section = elf_image_section(image, section, types[i], &header)))
			code = read_section(slots, image, section, &header);
	}
	if (slots->list.count)
		qsort(slots->list.items, slots->list.count, sizeof(*slots->list.items),
		      compare_slots);
	return code;
}

void got_slots_free(struct got_slots *slots)
{
	vec_free(&slots->list);
}

uint64_t got_slots_find(const struct got_slots *slots, uint64_t address)
{
	const struct got_slot key = {.address = address}, *found = NULL;

	if (slots->list.count)
		found = bsearch(&key, slots->list.items, slots->list.count, sizeof(key),
				compare_slots);
	return found ? found->function : 0;
}
