/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the CFI compiler needs of an ELF file: its bytes, where code lies, the frame sections. */
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

#define CFI_SEGMENT_MAX  64        /* executable ones; files have one or two */
#define CFI_INFLATED_MAX (1 << 28) /* bytes of a compressed section */

/* A stretch of code that is in the file. */
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
	uint64_t entry;     /* the virtual address at which a program starts */
	bool is_changeable; /* libelf may keep decompressed sections in it */
	struct cfi_segment segments[CFI_SEGMENT_MAX];
	size_t segment_count;
	/* File offsets between which its sections have code. Linkers may put all that is read into
	 * the segment that is executed, which is far more. Without sections: the whole file. */
	uint64_t code_start, code_end;
};

/*
 * Takes over the Elf, which may be NULL, and ends it also on failure. Decompressing a section
 * changes headers, which of an Elf in foreign memory must not be. 0, -ENOEXEC or -ENOTSUP.
 */
int cfi_object_open(struct cfi_object *object, Elf *elf, bool is_changeable, struct error *err);
void cfi_object_close(struct cfi_object *object);

/* The segment that has code at a virtual address, or NULL. */
const struct cfi_segment *cfi_object_segment(const struct cfi_object *object, uint64_t vaddr);

/* Does the function at a file offset, of so many bytes, start as an outermost one? */
bool cfi_object_is_outermost(const struct cfi_object *object, uint32_t offset, uint32_t size);

/* False if the file has none. The section lives as long as the object. */
bool cfi_object_eh_frame(struct cfi_object *object, struct cfi_section *ret_section);
bool cfi_object_debug_frame(struct cfi_object *object, struct cfi_section *ret_section);

/* The bytes of the file from a virtual address on, up to the end of its segment; of a size of 0 if
 * there are none. */
const uint8_t *cfi_object_bytes(const struct cfi_object *object, uint64_t vaddr,
				uint64_t *ret_size);

/* Likewise .ARM.exidx, and its address. */
const uint8_t *cfi_object_exidx(const struct cfi_object *object, uint64_t *ret_vaddr,
				uint64_t *ret_size);

#endif
