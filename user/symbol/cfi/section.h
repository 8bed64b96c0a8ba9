/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entries of .eh_frame and .debug_frame: common information entries (CIE) and the frame
 * descriptions (FDE) that refer to them, one for each stretch of code. DWARF 5, 6.4.1; Linux
 * Standard Base Core 5.0, 10.6.
 */
#ifndef MTRACE_SYMBOL_CFI_SECTION_H
#define MTRACE_SYMBOL_CFI_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"
#include "symbol/cfi/reader.h"

#define CFI_CIE_MAX (1 << 16) /* of a section; libLLVM has 3, Debian's largest some hundred */
#define CFI_FDE_MAX (1 << 21)

#define CFI_LSDA_NONE   0
#define CFI_LSDA_BROKEN UINT64_MAX

struct cfi_section {
	struct cfi_pointer_base base;
	size_t size;
	bool debug_frame; /* else .eh_frame */
	bool big_endian;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_column;
	struct cfi_pointer_base base; /* the section's, with this entry's size of addresses */
	uint8_t pointer_encoding;
	bool augmented;            /* FDEs carry augmentation data */
	uint8_t lsda_encoding;     /* of FDEs' pointers to exception handlers; or DW_EH_PE_omit */
	bool signal;               /* code to which a signal handler returns */
	struct cfi_reader program; /* the initial instructions */
};

struct cfi_fde {
	uint64_t vaddr;
	uint64_t size;  /* bytes of code */
	uint32_t index; /* in the order of the section */
	uint32_t cie;   /* index of entries.cies */
	uint64_t lsda;  /* virtual address of its table of exception handlers, or CFI_LSDA_… */
	struct cfi_reader program;
};

struct cfi_entries {
	VEC(struct cfi_cie) cies;
	VEC(struct cfi_fde) fdes;
	struct map64 cie_index; /* while a section is read: offset in it → index, CIE_BROKEN */
	uint32_t broken;        /* FDEs that cannot be read */
};

/*
 * Read all entries, behind those of sections read before. Those that make no sense are counted and
 * left out; what follows a wrong length is lost. Entries point into the section. 0, -ENOMEM, or
 * -E2BIG beyond the limits above.
 */
int cfi_section_read(const struct cfi_section *section, struct cfi_entries *entries);
void cfi_entries_free(struct cfi_entries *entries);

#endif
