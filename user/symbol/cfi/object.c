// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/cfi/object.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "symbol/cfi/machine.h"

/* Returns how many of the `size` bytes at an offset exist in the file. */
static uint64_t clip(const struct cfi_object *object, uint64_t offset, uint64_t size)
{
	if (offset >= object->size)
		return 0;
	return size < object->size - offset ? size : object->size - offset;
}

static void read_segments(struct cfi_object *object)
{
	size_t count;

	if (elf_getphdrnum(object->elf, &count))
		return;
	for (size_t i = 0; i < count && object->segment_count < CFI_SEGMENT_MAX; i++) {
		struct cfi_segment segment;
		GElf_Phdr header;

		if (!gelf_getphdr(object->elf, (int)i, &header))
			return;
		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X))
			continue;
		segment.vaddr = header.p_vaddr;
		segment.offset = header.p_offset;
		segment.size = clip(object, header.p_offset, header.p_filesz);
		if (segment.vaddr + segment.size >= segment.vaddr)
			object->segments[object->segment_count++] = segment;
	}
}

static void read_code_bounds(struct cfi_object *object)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	object->code_start = UINT64_MAX;
	while ((section = elf_nextscn(object->elf, section))) {
		uint64_t start, end;

		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR) ||
		    header.sh_type == SHT_NOBITS)
			continue;
		start = header.sh_offset;
		end = start + clip(object, start, header.sh_size);
		object->code_start = start < object->code_start ? start : object->code_start;
		object->code_end = end > object->code_end ? end : object->code_end;
	}
	if (object->code_start >= object->code_end) {
		object->code_start = 0;
		object->code_end = object->size;
	}
}

static int open_elf(struct cfi_object *object, struct error *err)
{
	GElf_Ehdr header;

	if (!object->elf || elf_kind(object->elf) != ELF_K_ELF ||
	    !gelf_getehdr(object->elf, &header))
		return error_set(err, -ENOEXEC,
				 "cannot read call frame information: not an ELF file");
	object->machine = cfi_machine(header.e_machine);
	if (!object->machine)
		return error_set(err, -ENOTSUP, "cannot unwind stacks of ELF machine %u",
				 header.e_machine);
	object->bytes = (const uint8_t *)elf_rawfile(object->elf, &object->size);
	if (!object->bytes)
		return error_set(err, -ENOEXEC, "cannot read call frame information: %s",
				 elf_errmsg(-1));
	object->big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
	object->entry = header.e_entry;
	object->address_size = header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	read_segments(object);
	read_code_bounds(object);
	return 0;
}

int cfi_object_open(struct cfi_object *object, Elf *elf, bool is_changeable, struct error *err)
{
	int code;

	*object = (struct cfi_object){.elf = elf, .is_changeable = is_changeable};
	code = open_elf(object, err);
	if (code)
		cfi_object_close(object);
	return code;
}

void cfi_object_close(struct cfi_object *object)
{
	elf_end(object->elf);
	object->elf = NULL;
}

const struct cfi_segment *cfi_object_segment(const struct cfi_object *object, uint64_t vaddr)
{
	for (size_t i = 0; i < object->segment_count; i++)
		if (vaddr - object->segments[i].vaddr < object->segments[i].size)
			return &object->segments[i];
	return NULL;
}

bool cfi_object_is_outermost(const struct cfi_object *object, uint32_t offset, uint32_t size)
{
	const struct cfi_machine *machine = object->machine;
	const char *code = (const char *)object->bytes + offset;

	for (size_t i = 0; i < machine->outermost_count; i++) {
		const struct cfi_outermost *start = &machine->outermost[i];

		if (size >= start->size && code[0] == start->bytes[0] &&
		    !memcmp(code, start->bytes, start->size))
			return true;
	}
	return false;
}

/* Compares with the name at an offset of the section name table. Bounded, as names may lack their
 * terminating NUL. */
static bool is_named(const struct cfi_object *object, const GElf_Shdr *names, uint64_t at,
		     const char *name)
{
	uint64_t size = clip(object, names->sh_offset, names->sh_size);
	size_t length = strlen(name) + 1;

	return at < size && size - at >= length &&
	       !memcmp(object->bytes + names->sh_offset + at, name, length);
}

static Elf_Scn *find_section(const struct cfi_object *object, const char *name,
			     GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;
	GElf_Shdr names;
	size_t index;

	if (elf_getshdrstrndx(object->elf, &index) ||
	    !gelf_getshdr(elf_getscn(object->elf, index), &names))
		return NULL;
	while ((section = elf_nextscn(object->elf, section)))
		if (gelf_getshdr(section, ret_header) && ret_header->sh_type != SHT_NOBITS &&
		    is_named(object, &names, ret_header->sh_name, name))
			return section;
	return NULL;
}

static uint64_t section_address(const struct cfi_object *object, const char *name)
{
	GElf_Shdr header;

	return find_section(object, name, &header) ? header.sh_addr : 0;
}

static struct cfi_section make_section(const struct cfi_object *object, const uint8_t *bytes,
				       uint64_t vaddr, uint64_t size)
{
	return (struct cfi_section){
		.base.bytes = bytes,
		.base.vaddr = vaddr,
		.base.text = section_address(object, ".text"),
		.base.data = section_address(object, ".got"),
		.base.address_size = object->address_size,
		.size = size,
		.big_endian = object->big_endian,
	};
}

/* The rest of the PT_LOAD that contains a virtual address. Without section headers, its end is the
 * only bound of .eh_frame. */
static bool rest_of_segment(const struct cfi_object *object, uint64_t vaddr, uint64_t *ret_offset,
			    uint64_t *ret_size)
{
	size_t count;

	if (elf_getphdrnum(object->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		uint64_t size;

		if (!gelf_getphdr(object->elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		size = clip(object, header.p_offset, header.p_filesz);
		if (vaddr - header.p_vaddr >= size)
			continue;
		*ret_offset = header.p_offset + (vaddr - header.p_vaddr);
		*ret_size = size - (vaddr - header.p_vaddr);
		return true;
	}
	return false;
}

static bool find_program_header(const struct cfi_object *object, uint32_t type,
				GElf_Phdr *ret_header)
{
	size_t count;

	if (elf_getphdrnum(object->elf, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(object->elf, (int)i, ret_header) && ret_header->p_type == type)
			return true;
	return false;
}

/* Finds .eh_frame by .eh_frame_hdr: version, three encodings, then the address of .eh_frame. */
static bool eh_frame_by_header(const struct cfi_object *object, struct cfi_section *ret_section)
{
	uint64_t offset, size, vaddr;
	struct cfi_section table;
	struct cfi_reader reader;
	GElf_Phdr header;
	uint8_t encoding;

	if (!find_program_header(object, PT_GNU_EH_FRAME, &header))
		return false;
	size = clip(object, header.p_offset, header.p_filesz);
	table = make_section(object, object->bytes + (size ? header.p_offset : 0), header.p_vaddr,
			     size);
	table.base.data = header.p_vaddr;
	reader = (struct cfi_reader){.at = table.base.bytes,
				     .end = table.base.bytes + size,
				     .big_endian = object->big_endian};
	if (cfi_read_fixed(&reader, 1) != 1)
		return false;
	encoding = (uint8_t)cfi_read_fixed(&reader, 1);
	cfi_skip(&reader, 2);
	vaddr = cfi_read_pointer(&reader, &table.base, encoding);
	if (reader.failed || !rest_of_segment(object, vaddr, &offset, &size))
		return false;
	*ret_section = make_section(object, object->bytes + offset, vaddr, size);
	return true;
}

bool cfi_object_eh_frame(struct cfi_object *object, struct cfi_section *ret_section)
{
	GElf_Shdr header;
	uint64_t size;

	if (!find_section(object, ".eh_frame", &header))
		return eh_frame_by_header(object, ret_section);
	size = clip(object, header.sh_offset, header.sh_size);
	*ret_section = make_section(object, object->bytes + (size ? header.sh_offset : 0),
				    header.sh_addr, size);
	return true;
}

static bool inflate_section(const struct cfi_object *object, Elf_Scn *section,
			    const uint8_t **ret_bytes, uint64_t *ret_size)
{
	GElf_Chdr compression;
	Elf_Data *data;

	if (!object->is_changeable || !gelf_getchdr(section, &compression) ||
	    compression.ch_size > CFI_INFLATED_MAX || elf_compress(section, 0, 0) < 0)
		return false;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf)
		return false;
	*ret_bytes = data->d_buf;
	*ret_size = data->d_size;
	return true;
}

/* Go functions switch stacks, which their .debug_frame does not describe: unwinding with it goes
 * astray (runtime/asm_amd64.s: asmcgocall). */
static bool is_made_by_go(const struct cfi_object *object)
{
	GElf_Shdr header;

	return find_section(object, ".note.go.buildid", &header) != NULL;
}

bool cfi_object_debug_frame(struct cfi_object *object, struct cfi_section *ret_section)
{
	const uint8_t *bytes = object->bytes;
	Elf_Scn *section;
	GElf_Shdr header;
	uint64_t size;

	if (is_made_by_go(object))
		return false;
	section = find_section(object, ".debug_frame", &header);
	if (!section)
		return false;
	size = clip(object, header.sh_offset, header.sh_size);
	if (size)
		bytes += header.sh_offset;
	if (header.sh_flags & SHF_COMPRESSED && !inflate_section(object, section, &bytes, &size))
		return false;
	*ret_section = make_section(object, bytes, 0, size);
	ret_section->debug_frame = true;
	return true;
}

const uint8_t *cfi_object_bytes(const struct cfi_object *object, uint64_t vaddr, uint64_t *ret_size)
{
	uint64_t offset = 0;

	*ret_size = 0;
	rest_of_segment(object, vaddr, &offset, ret_size);
	return object->bytes + offset;
}

const uint8_t *cfi_object_exidx(const struct cfi_object *object, uint64_t *ret_vaddr,
				uint64_t *ret_size)
{
	GElf_Phdr header;

	*ret_vaddr = *ret_size = 0;
	if (!find_program_header(object, PT_ARM_EXIDX, &header))
		return object->bytes;
	*ret_vaddr = header.p_vaddr;
	*ret_size = clip(object, header.p_offset, header.p_filesz);
	return object->bytes + (*ret_size ? header.p_offset : 0);
}
