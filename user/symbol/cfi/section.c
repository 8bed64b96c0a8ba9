// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/cfi/section.h"

#include <dwarf.h>
#include <string.h>

#define CIE_BROKEN     (MAP64_NONE - 1)
#define LENGTH_64      0xffffffffu /* an 8-byte length follows (DWARF 5, 7.4) */
#define LENGTH_ILLEGAL 0xfffffff0u /* and above */

/* An entry of the section whose length and id have been read. */
struct section_entry {
	struct cfi_reader body; /* what follows the id */
	uint64_t cie_offset;    /* of an FDE: section offset of its CIE */
	bool is_cie;
	bool is_known; /* in a supported format */
};

static struct cfi_reader section_reader(const struct cfi_section *section, uint64_t offset)
{
	const uint8_t *bytes = section->base.bytes;

	return (struct cfi_reader){
		.at = bytes + offset,
		.end = bytes + section->size,
		.big_endian = section->big_endian,
	};
}

/* .eh_frame: a CIE has the id 0; the id of an FDE is the distance from the id field back to its
 * CIE. */
static void read_eh_id(const struct cfi_section *section, bool wide, struct section_entry *entry)
{
	uint64_t here = (uint64_t)(entry->body.at - section->base.bytes);
	uint64_t id = cfi_read_fixed(&entry->body, 4);

	entry->is_cie = id == 0;
	entry->cie_offset = here - id;
	/* Readers treat 64-bit entries of .eh_frame differently from the standard: not
	 * supported. */
	entry->is_known = !wide && id <= here;
}

/* .debug_frame: the id of a CIE is all ones; the id of an FDE is the offset of its CIE. */
static void read_debug_id(bool wide, struct section_entry *entry)
{
	uint64_t id = cfi_read_fixed(&entry->body, wide ? 8 : 4);

	entry->is_cie = id == (wide ? UINT64_MAX : UINT32_MAX);
	entry->cie_offset = id;
	entry->is_known = true;
}

/* Reads the next entry. Returns false at the end, and for a length that exceeds the section. */
static bool next_entry(const struct cfi_section *section, struct cfi_reader *reader,
		       struct section_entry *ret_entry)
{
	uint64_t length = cfi_read_fixed(reader, 4);
	bool wide = length == LENGTH_64;

	if (wide)
		length = cfi_read_fixed(reader, 8);
	else if (length >= LENGTH_ILLEGAL)
		return false;
	if (!length) /* terminates .eh_frame */
		return false;
	ret_entry->body = cfi_read_part(reader, length);
	if (section->debug_frame)
		read_debug_id(wide, ret_entry);
	else
		read_eh_id(section, wide, ret_entry);
	return !reader->failed;
}

/* Skips the personality routine to get to the fields after it. */
static void skip_personality(struct cfi_reader *data, const struct cfi_cie *cie)
{
	uint8_t encoding = (uint8_t)cfi_read_fixed(data, 1);

	if (encoding == DW_EH_PE_omit)
		return;
	encoding &= (uint8_t)~DW_EH_PE_indirect;
	if (encoding != DW_EH_PE_aligned)
		encoding &= 0xf;
	cfi_read_pointer(data, &cie->base, encoding);
}

/* Returns false for an unknown letter. */
static bool read_letter(char letter, struct cfi_reader *data, struct cfi_cie *cie)
{
	switch (letter) {
	case 'R':
		cie->pointer_encoding = (uint8_t)cfi_read_fixed(data, 1);
		return true;
	case 'L':
		cie->lsda_encoding = (uint8_t)cfi_read_fixed(data, 1);
		return true;
	case 'P':
		skip_personality(data, cie);
		return true;
	case 'S':
		cie->signal = true;
		return true;
	case 'B': /* AArch64: return addresses are signed with the B key */
		return true;
	default:
		return false;
	}
}

static bool read_augmentation(const char *letters, struct cfi_reader *reader, struct cfi_cie *cie)
{
	struct cfi_reader data;

	if (*letters != 'z')
		return !*letters;
	cie->augmented = true;
	data = cfi_read_part(reader, cfi_read_uleb(reader));
	while (*++letters)
		if (!read_letter(*letters, &data, cie))
			return false;
	return !data.failed;
}

static bool is_version(const struct cfi_section *section, uint64_t version)
{
	return version == 1 || version == 3 || (version == 4 && section->debug_frame);
}

/* The sizes of addresses and segment selectors: new in DWARF 4, and only in .debug_frame. */
static bool read_address_size(struct cfi_reader *reader, struct cfi_cie *cie)
{
	cie->base.address_size = (uint8_t)cfi_read_fixed(reader, 1);
	return (cie->base.address_size == 4 || cie->base.address_size == 8) &&
	       cfi_read_fixed(reader, 1) == 0;
}

static bool read_cie(const struct cfi_section *section, struct cfi_reader reader,
		     struct cfi_cie *cie)
{
	uint64_t version = cfi_read_fixed(&reader, 1);
	const char *letters = cfi_read_string(&reader);

	*cie = (struct cfi_cie){.base = section->base,
				.pointer_encoding = DW_EH_PE_absptr,
				.lsda_encoding = DW_EH_PE_omit};
	if (!letters || !is_version(section, version))
		return false;
	if (!strcmp(letters, "eh")) { /* gcc 2: the address of an exception table */
		cfi_skip(&reader, cie->base.address_size);
		letters += 2;
	}
	if (version == 4 && !read_address_size(&reader, cie))
		return false;
	cie->code_align = cfi_read_uleb(&reader);
	cie->data_align = cfi_read_sleb(&reader);
	cie->return_column = version == 1 ? cfi_read_fixed(&reader, 1) : cfi_read_uleb(&reader);
	if (!read_augmentation(letters, &reader, cie))
		return false;
	cie->program = reader;
	return !reader.failed;
}

static int add_cie(const struct cfi_section *section, uint64_t offset, struct cfi_entries *entries,
		   uint32_t *ret_index)
{
	struct cfi_reader reader = section_reader(section, offset);
	uint32_t index = CIE_BROKEN;
	struct section_entry entry;
	struct cfi_cie cie;

	if (next_entry(section, &reader, &entry) && entry.is_cie && entry.is_known &&
	    read_cie(section, entry.body, &cie)) {
		if (entries->cies.count == CFI_CIE_MAX)
			return -E2BIG;
		index = (uint32_t)entries->cies.count;
		if (vec_push(&entries->cies, cie))
			return -ENOMEM;
	}
	*ret_index = index;
	return map64_set(&entries->cie_index, offset, index);
}

/* Reads a CIE when the first FDE refers to it. */
static int find_cie(const struct cfi_section *section, uint64_t offset, struct cfi_entries *entries,
		    uint32_t *ret_index)
{
	*ret_index = CIE_BROKEN;
	if (offset >= section->size)
		return 0;
	*ret_index = map64_get(&entries->cie_index, offset);
	return *ret_index == MAP64_NONE ? add_cie(section, offset, entries, ret_index) : 0;
}

/* The pointer to the language-specific data area (LSDA): the exception table. */
static uint64_t read_lsda(const struct cfi_cie *cie, struct cfi_reader *data)
{
	uint64_t lsda;

	if (cie->lsda_encoding == DW_EH_PE_omit)
		return CFI_LSDA_NONE;
	lsda = cfi_read_pointer(data, &cie->base, cie->lsda_encoding);
	return data->failed ? CFI_LSDA_BROKEN : lsda;
}

static bool read_fde(const struct cfi_cie *cie, struct cfi_reader reader, struct cfi_fde *fde)
{
	fde->vaddr = cfi_read_pointer(&reader, &cie->base, cie->pointer_encoding);
	fde->size = cfi_read_pointer(&reader, &cie->base, cie->pointer_encoding & 0xf);
	if (cie->augmented) {
		struct cfi_reader data = cfi_read_part(&reader, cfi_read_uleb(&reader));

		fde->lsda = read_lsda(cie, &data);
	}
	fde->program = reader;
	return !reader.failed;
}

static int add_fde(const struct cfi_section *section, const struct section_entry *entry,
		   struct cfi_entries *entries)
{
	struct cfi_fde fde = {.index = (uint32_t)entries->fdes.count};
	int code = 0;

	if (entry->is_known)
		code = find_cie(section, entry->cie_offset, entries, &fde.cie);
	if (code)
		return code;
	if (!entry->is_known || fde.cie == CIE_BROKEN ||
	    !read_fde(&entries->cies.items[fde.cie], entry->body, &fde)) {
		entries->broken++;
		return 0;
	}
	if (entries->fdes.count == CFI_FDE_MAX)
		return -E2BIG;
	return vec_push(&entries->fdes, fde);
}

int cfi_section_read(const struct cfi_section *section, struct cfi_entries *entries)
{
	struct cfi_reader reader = section_reader(section, 0);
	struct section_entry entry;
	int code = 0;

	while (!code && !cfi_reader_is_empty(&reader) && next_entry(section, &reader, &entry))
		if (!entry.is_cie)
			code = add_fde(section, &entry, entries);
	map64_free(&entries->cie_index);
	return code;
}

void cfi_entries_free(struct cfi_entries *entries)
{
	vec_free(&entries->cies);
	vec_free(&entries->fdes);
	map64_free(&entries->cie_index);
}
