/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entries of .eh_frame and .debug_frame: common information entries (CIEs), and the frame
 * description entries (FDEs) that refer to them, one for each range of code. DWARF 5, 6.4.1; Linux
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

#define CFI_CIE_MAX (1 << 16) /* per section; in Debian's largest, a few hundred */
#define CFI_FDE_MAX (1 << 21)

#define CFI_LSDA_NONE   0
#define CFI_LSDA_BROKEN UINT64_MAX

struct cfi_section {
	struct cfi_pointer_base base;
	size_t size;
	bool debug_frame; /* otherwise .eh_frame */
	bool big_endian;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_column;
	struct cfi_pointer_base base; /* the section's, but with the address size of this entry */
	uint8_t pointer_encoding;
	bool augmented;            /* FDEs carry augmentation data */
	uint8_t lsda_encoding;     /* of FDEs' LSDA pointers; or DW_EH_PE_omit */
	bool signal;               /* describes a signal trampoline */
	struct cfi_reader program; /* the initial instructions */
};

struct cfi_fde {
	uint64_t vaddr;
	uint64_t size;  /* bytes of code */
	uint32_t index; /* in section order */
	uint32_t cie;   /* index of entries.cies */
	uint64_t lsda;  /* virtual address of its exception table, or CFI_LSDA_… */
	struct cfi_reader program;
};

struct cfi_entries {
	VEC(struct cfi_cie) cies;
	VEC(struct cfi_fde) fdes;
	struct map64 cie_index; /* only during a read: section offset → index or CIE_BROKEN */
	uint32_t broken;        /* FDEs that cannot be read */
};

/*
 * Appends all entries of a section. Malformed entries are counted and skipped; a wrong length ends
 * the reading. Entries point into the section. Returns 0, -ENOMEM, or -E2BIG beyond the limits
 * above.
 */
int cfi_section_read(const struct cfi_section *section, struct cfi_entries *entries);
void cfi_entries_free(struct cfi_entries *entries);

#endif
