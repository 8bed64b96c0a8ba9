/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of an ELF file that the CFI compiler needs: its bytes, its code segments and its frame
 * sections. */
#ifndef MTRACE_SYMBOL_CFI_OBJECT_H
#define MTRACE_SYMBOL_CFI_OBJECT_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "base/error.h"
#include "symbol/cfi/machine.h"
#include "symbol/cfi/section.h"

#define CFI_SEGMENT_MAX  64        /* executable segments; files have one or two */
#define CFI_INFLATED_MAX (1 << 28) /* decompressed size of a section, in bytes */

/* An executable PT_LOAD. `size` is the number of bytes present in the file. */
struct cfi_segment {
	uint64_t vaddr;
	uint64_t offset;
	uint64_t size;
};

struct cfi_object {
	Elf *elf;
	const uint8_t *bytes;
	size_t size;
	const struct cfi_machine *machine;
	bool big_endian;
	uint8_t address_size;
	uint64_t entry;     /* e_entry: virtual address of a program's first instruction */
	bool is_changeable; /* libelf may keep decompressed sections in it */
	struct cfi_segment segments[CFI_SEGMENT_MAX];
	size_t segment_count;
	/* File offsets that enclose the executable sections. An executable segment can be far
	 * larger, as some linkers also put read-only data into it. Without sections: the whole
	 * file. */
	uint64_t code_start, code_end;
};

/*
 * Takes ownership of the Elf, which may be NULL, and ends it on failure, too. `is_changeable` is
 * false for an Elf in foreign memory: decompressing a section modifies its headers. Returns 0,
 * -ENOEXEC or -ENOTSUP; sets *err.
 */
int cfi_object_open(struct cfi_object *object, Elf *elf, bool is_changeable, struct error *err);
void cfi_object_close(struct cfi_object *object);

/* The segment that contains a virtual address, or NULL. */
const struct cfi_segment *cfi_object_segment(const struct cfi_object *object, uint64_t vaddr);

/* Returns true if the function of `size` bytes at a file offset starts like an outermost one. */
bool cfi_object_is_outermost(const struct cfi_object *object, uint32_t offset, uint32_t size);

/* Return false if the file has no such section. The section is valid as long as the object. */
bool cfi_object_eh_frame(struct cfi_object *object, struct cfi_section *ret_section);
bool cfi_object_debug_frame(struct cfi_object *object, struct cfi_section *ret_section);

/* The bytes from a virtual address to the end of its segment. The size is 0 if the file has
 * none. */
const uint8_t *cfi_object_bytes(const struct cfi_object *object, uint64_t vaddr,
				uint64_t *ret_size);

/* The bytes of .ARM.exidx, and its virtual address. The size is 0 if the file has none. */
const uint8_t *cfi_object_exidx(const struct cfi_object *object, uint64_t *ret_vaddr,
				uint64_t *ret_size);

#endif
