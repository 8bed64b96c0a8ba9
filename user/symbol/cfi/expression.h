/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locations, and the DWARF expressions that compute them. */
#ifndef MTRACE_SYMBOL_CFI_EXPRESSION_H
#define MTRACE_SYMBOL_CFI_EXPRESSION_H

#include <stdint.h>

#include "arch/unwind_row.h"
#include "symbol/cfi/reader.h"

/* The forms of locations that occur in practice. OTHER stands for everything that no row can
 * express. */
enum cfi_form {
	CFI_FORM_OTHER = 0,
	CFI_FORM_PLAIN,    /* register + offset */
	CFI_FORM_LOAD,     /* *(register + offset) */
	CFI_FORM_LOAD_ADD, /* *(register + offset) + extra */
	CFI_FORM_LOAD_AT,  /* *(*(register + offset) + extra) */
	CFI_FORM_PLT,      /* sp + offset + ((ip & 15) >= extra ? word : 0) */
};

struct cfi_location {
	enum cfi_form form;
	uint64_t dwarf_register;
	int64_t offset;
	uint64_t extra;
};

/* Returns the location that a DWARF expression computes. */
struct cfi_location cfi_expression_classify(struct cfi_reader expression,
					    const struct unwind_abi *abi);

#endif
