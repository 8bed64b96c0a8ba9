// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sorted array, built once; dwfl_module_addrinfo() looks at every symbol on each lookup. Of
 * several names at one address, the last one in sort order wins. That is the most common name:
 * symbols with a size are preferred to those without, fewer leading underscores to more (puts, not
 * _IO_puts), global to weak to local binding.
 */
#include "symbol/names/symbol_index.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define OVERLAPS_MAX 64 /* symbols to check, starting from the one that begins last */

struct code_symbol {
	GElf_Addr low;
	GElf_Addr high; /* past the last byte */
	const char *name;
	bool sized;
	uint8_t underscores;
	uint8_t binding; /* binding_rank() */
};

struct symbol_index {
	VEC(struct code_symbol) list;
};

static bool is_code(const GElf_Sym *symbol)
{
	unsigned char type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
	       symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS;
}

/* Mapping symbols of Arm and AArch64 ($a, $d, $t, $x), which separate code from data, even inside a
 * function. */
static bool is_mapping_mark(const char *name, const GElf_Sym *symbol)
{
	return symbol->st_info == GELF_ST_INFO(STB_LOCAL, STT_NOTYPE) && name[0] == '$' &&
	       name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
}

static uint8_t binding_rank(const GElf_Sym *symbol)
{
	unsigned char binding = GELF_ST_BIND(symbol->st_info);

	return binding == STB_LOCAL ? 0 : binding == STB_WEAK ? 1 : 2;
}

static uint8_t count_underscores(const char *name)
{
	size_t count = strspn(name, "_");

	return count < UINT8_MAX ? (uint8_t)count : UINT8_MAX;
}

/* The end of its section: the upper bound for a symbol without size. */
static GElf_Addr section_end(const struct symbol_entry *entry)
{
	GElf_Shdr header;

	if (!gelf_getshdr(elf_getscn(entry->elf, entry->section), &header) ||
	    !(header.sh_flags & SHF_EXECINSTR))
		return entry->address;
	return header.sh_addr + header.sh_size + entry->bias;
}

int symbol_index_add(struct symbol_index *index, const struct symbol_entry *entry)
{
	const GElf_Sym *raw = &entry->symbol;
	struct code_symbol symbol = {.name = entry->name, .low = entry->address};

	if (!symbol.name || !*symbol.name || !is_code(raw) || is_mapping_mark(symbol.name, raw))
		return 0;
	symbol.sized = raw->st_size;
	symbol.high = raw->st_size ? symbol.low + raw->st_size : section_end(entry);
	if (symbol.high <= symbol.low)
		return 0;
	symbol.underscores = count_underscores(symbol.name);
	symbol.binding = binding_rank(raw);
	return vec_push(&index->list, symbol);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct code_symbol *one = a, *other = b;

	if (one->low != other->low)
		return one->low < other->low ? -1 : 1;
	if (one->sized != other->sized)
		return one->sized ? 1 : -1;
	if (one->underscores != other->underscores)
		return other->underscores - one->underscores;
	if (one->binding != other->binding)
		return one->binding - other->binding;
	return strcmp(other->name, one->name);
}

/* Ends symbols without size where the next one begins. */
static void close_gaps(struct symbol_index *index)
{
	GElf_Addr next = UINT64_MAX;

	for (size_t i = index->list.count; i-- > 0;) {
		struct code_symbol *symbol = &index->list.items[i];

		if (i + 1 < index->list.count && symbol[1].low > symbol->low)
			next = symbol[1].low;
		if (!symbol->sized && symbol->high > next)
			symbol->high = next;
	}
}

struct symbol_index *symbol_index_new(void)
{
	return calloc(1, sizeof(struct symbol_index));
}

void symbol_index_sort(struct symbol_index *index)
{
	if (index->list.count)
		qsort(index->list.items, index->list.count, sizeof(*index->list.items),
		      compare_symbols);
	close_gaps(index);
}

void symbol_index_free(struct symbol_index *index)
{
	if (!index)
		return;
	vec_free(&index->list);
	free(index);
}

/* Number of symbols that begin at or before the address. */
static size_t count_up_to(const struct symbol_index *index, GElf_Addr address)
{
	size_t low = 0, high = index->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->list.items[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const char *symbol_index_find(const struct symbol_index *index, GElf_Addr address)
{
	size_t end = count_up_to(index, address);

	for (size_t i = end; i > 0 && end - i < OVERLAPS_MAX; i--)
		if (address < index->list.items[i - 1].high)
			return index->list.items[i - 1].name;
	return NULL;
}
