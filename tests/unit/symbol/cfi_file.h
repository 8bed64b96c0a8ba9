/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes ELF files with call frame information, in both byte orders and word sizes.
 *
 * An object is a file of 4 KiB that is mapped at 0x1000, with one executable segment:
 *	0x200 .eh_frame_hdr	0x300 .eh_frame or .debug_frame		0x800-0x900 code
 */
#ifndef MTRACE_TESTS_CFI_FILE_H
#define MTRACE_TESTS_CFI_FILE_H

#include <dwarf.h>
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FILE_SIZE 0x1000
#define LOADED_AT 0x1000

#define HEADER_AT  0x200
#define FRAME_AT   0x300
#define CODE_AT    0x800
#define CODE_SIZE  0x100
#define NAMES_AT   0xa00
#define SECTION_AT 0xb00
#define TEXT_BASE  0x1700 /* the assumed addresses of .text and .got */
#define DATA_BASE  0x1600

static const char section_names[] = "\0.eh_frame\0.debug_frame\0.text\0.got";
#define NAME_EH_FRAME    1
#define NAME_DEBUG_FRAME 11
#define NAME_TEXT        24
#define NAME_GOT         30

/* The file while it is written, at position `at`. */
struct object {
	uint8_t bytes[FILE_SIZE];
	size_t at;
	bool big_endian;
	bool elf64;
	bool debug_frame;
	bool stripped; /* no section headers */
	uint16_t machine;
	size_t frame_end;
};

static inline void put(struct object *object, unsigned int width, uint64_t value)
{
	for (unsigned int i = 0; i < width; i++) {
		unsigned int shift = 8 * (object->big_endian ? width - 1 - i : i);

		object->bytes[object->at++] = (uint8_t)(value >> shift);
	}
}

static inline void put_word(struct object *object, uint64_t value)
{
	put(object, object->elf64 ? 8 : 4, value);
}

static inline void put_bytes(struct object *object, const void *bytes, size_t size)
{
	memcpy(object->bytes + object->at, bytes, size);
	object->at += size;
}

static inline void put_uleb(struct object *object, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put(object, 1, value | 0x80);
	put(object, 1, value);
}

/*
 * ELF.
 */

static inline void put_elf_header(struct object *object)
{
	const uint8_t ident[EI_NIDENT] = {
		0x7f,
		'E',
		'L',
		'F',
		object->elf64 ? ELFCLASS64 : ELFCLASS32,
		object->big_endian ? ELFDATA2MSB : ELFDATA2LSB,
		EV_CURRENT,
	};

	object->at = 0;
	put_bytes(object, ident, sizeof(ident));
	put(object, 2, ET_DYN);
	put(object, 2, object->machine);
	put(object, 4, EV_CURRENT);
	put_word(object, 0);
	put_word(object, object->elf64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
	put_word(object, object->stripped ? 0 : SECTION_AT);
	put(object, 4, 0);
	put(object, 2, object->elf64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
	put(object, 2, object->elf64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
	put(object, 2, 2);
	put(object, 2, object->elf64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
	put(object, 2, object->stripped ? 0 : 5);
	put(object, 2, object->stripped ? 0 : 4);
}

static inline void put_program_header(struct object *object, uint32_t type, uint64_t offset,
				      uint64_t size)
{
	put(object, 4, type);
	if (object->elf64)
		put(object, 4, PF_R | PF_X);
	put_word(object, offset);
	put_word(object, LOADED_AT + offset);
	put_word(object, LOADED_AT + offset);
	put_word(object, size);
	put_word(object, size);
	if (!object->elf64)
		put(object, 4, PF_R | PF_X);
	put_word(object, 0x1000);
}

static inline void put_section_header(struct object *object, uint32_t name, uint32_t type,
				      uint64_t address, uint64_t offset, uint64_t size)
{
	put(object, 4, name);
	put(object, 4, type);
	put_word(object, 0);
	put_word(object, address);
	put_word(object, offset);
	put_word(object, size);
	put(object, 4, 0);
	put(object, 4, 0);
	put_word(object, 1);
	put_word(object, 0);
}

/* Adds everything around the frame section, after that is written. */
static inline void finish(struct object *object)
{
	object->frame_end = object->at;
	put_elf_header(object);
	put_program_header(object, PT_LOAD, 0, CODE_AT + CODE_SIZE);
	put_program_header(object, PT_GNU_EH_FRAME, HEADER_AT, 12);
	object->at = HEADER_AT;
	put(object, 1, 1);
	put(object, 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	put(object, 1, DW_EH_PE_omit);
	put(object, 1, DW_EH_PE_omit);
	put(object, 4, FRAME_AT - (HEADER_AT + 4));
	object->at = NAMES_AT;
	put_bytes(object, section_names, sizeof(section_names));
	object->at = SECTION_AT;
	put_section_header(object, 0, SHT_NULL, 0, 0, 0);
	put_section_header(object, object->debug_frame ? NAME_DEBUG_FRAME : NAME_EH_FRAME,
			   SHT_PROGBITS, object->debug_frame ? 0 : LOADED_AT + FRAME_AT, FRAME_AT,
			   object->frame_end - FRAME_AT);
	put_section_header(object, NAME_TEXT, SHT_PROGBITS, TEXT_BASE, CODE_AT, CODE_SIZE);
	put_section_header(object, NAME_GOT, SHT_PROGBITS, DATA_BASE, CODE_AT, 8);
	put_section_header(object, 0, SHT_STRTAB, 0, NAMES_AT, sizeof(section_names));
}

/*
 * Entries of the frame section.
 */

/* Instructions, as bytes. */
struct program {
	const char *bytes;
	size_t size;
};

#define PROGRAM(bytes) ((struct program){(bytes), sizeof(bytes) - 1})

struct cie {
	unsigned int version;
	const char *augmentation; /* letters; the encoding of R follows */
	uint8_t encoding;
	int data_align; /* -64 … 63 */
	uint8_t return_column;
	struct program start;
};

static inline void patch_length(struct object *object, size_t start)
{
	size_t end = object->at;

	object->at = start;
	put(object, 4, end - start - 4);
	object->at = end;
}

static inline void put_augmentation_data(struct object *object, const struct cie *cie)
{
	size_t length_at = object->at++;

	for (const char *letter = cie->augmentation + 1; *letter; letter++) {
		if (*letter == 'R')
			put(object, 1, cie->encoding);
		if (*letter == 'L')
			put(object, 1, DW_EH_PE_omit);
		if (*letter == 'P') {
			put(object, 1, DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4);
			put(object, 4, 0x77);
		}
	}
	object->bytes[length_at] = (uint8_t)(object->at - length_at - 1);
}

static inline void put_cie(struct object *object, const struct cie *cie)
{
	size_t start = object->at;

	put(object, 4, 0);
	put(object, 4, object->debug_frame ? UINT32_MAX : 0);
	put(object, 1, cie->version);
	put_bytes(object, cie->augmentation, strlen(cie->augmentation) + 1);
	if (cie->version == 4)
		put(object, 2, object->big_endian == object->elf64 ? 0x0400 : 0x0008);
	put_uleb(object, 1);
	put(object, 1, (uint64_t)cie->data_align & 0x7f);
	put(object, 1, cie->return_column);
	if (cie->augmentation[0] == 'z')
		put_augmentation_data(object, cie);
	put_bytes(object, cie->start.bytes, cie->start.size);
	patch_length(object, start);
}

static inline void put_pointer(struct object *object, uint8_t encoding, uint64_t value)
{
	static const uint8_t widths[16] = {
		[DW_EH_PE_udata2] = 2, [DW_EH_PE_udata4] = 4, [DW_EH_PE_udata8] = 8,
		[DW_EH_PE_sdata2] = 2, [DW_EH_PE_sdata4] = 4, [DW_EH_PE_sdata8] = 8,
	};
	uint8_t format = encoding & 0xf;

	if (format == DW_EH_PE_uleb128 || format == DW_EH_PE_sleb128)
		for (int i = 0; i < 10; i++) /* in full length, so that the sign bit is present */
			put(object, 1,
			    ((i < 9 ? value >> 7 * i : value >> 63) & 0x7f) | (i < 9) << 7);
	else if (widths[format])
		put(object, widths[format], value);
	else
		put_word(object, value);
}

/* The code address of an FDE, relative to what the encoding says. */
static inline void put_code_address(struct object *object, uint8_t encoding, uint64_t address)
{
	unsigned int word = object->elf64 ? 8 : 4;

	switch (encoding & 0x70) {
	case DW_EH_PE_pcrel:
		address -= LOADED_AT + object->at;
		break;
	case DW_EH_PE_textrel:
		address -= TEXT_BASE;
		break;
	case DW_EH_PE_datarel:
		address -= DATA_BASE;
		break;
	case DW_EH_PE_aligned:
		while (object->at % word)
			put(object, 1, 0);
		break;
	}
	put_pointer(object, encoding, address);
}

/* For code in [start, start + size), as file offsets. */
static inline void put_fde(struct object *object, const struct cie *cie, size_t cie_at,
			   uint64_t start, uint64_t size, struct program program)
{
	uint8_t encoding = strchr(cie->augmentation, 'R') ? cie->encoding : DW_EH_PE_absptr;
	size_t at = object->at;

	put(object, 4, 0);
	put(object, 4, object->debug_frame ? cie_at - FRAME_AT : object->at - cie_at);
	put_code_address(object, encoding, LOADED_AT + start);
	put_pointer(object, encoding & 0xf, size);
	if (cie->augmentation[0] == 'z')
		put_uleb(object, 0);
	put_bytes(object, program.bytes, program.size);
	patch_length(object, at);
}

#endif
