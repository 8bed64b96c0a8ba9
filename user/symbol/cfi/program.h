/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs call frame instructions (DWARF 5, 6.4.2) for the few registers that unwinding needs. A
 * program yields a sequence of spans of code, each with the rules that apply to it.
 */
#ifndef MTRACE_SYMBOL_CFI_PROGRAM_H
#define MTRACE_SYMBOL_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "symbol/cfi/expression.h"
#include "symbol/cfi/reader.h"
#include "symbol/cfi/section.h"

#define CFI_REMEMBER_MAX        16   /* nesting of DW_CFA_remember_state; compilers use 1 */
#define CFI_INITIAL_PROGRAM_MAX 1024 /* size of a CIE's instructions, in bytes */

enum cfi_rule_kind {
	CFI_RULE_NONE = 0, /* the CFI says nothing */
	CFI_RULE_UNDEFINED,
	CFI_RULE_SAME,
	CFI_RULE_AT_CFA,   /* saved at CFA + place.offset */
	CFI_RULE_AT_PLACE, /* saved at a location */
	CFI_RULE_REGISTER, /* in another register, place.dwarf_register */
	CFI_RULE_OTHER,    /* computed */
};

struct cfi_rule {
	enum cfi_rule_kind kind;
	struct cfi_location place;
};

/* IP is the return address column. SECOND is the second frame pointer of processors with two, or
 * the scratch register that may hold the return address (PowerPC). */
enum cfi_register { CFI_SP, CFI_BP, CFI_IP, CFI_SECOND, CFI_REGISTER_COUNT };

struct cfi_rules {
	struct cfi_location cfa;
	struct cfi_rule registers[CFI_REGISTER_COUNT];
};

struct cfi_program {
	const struct unwind_abi *abi;
	const struct cfi_cie *cie;
	const struct cfi_rules *initial;
	uint64_t known; /* bit mask of the registers below 64 that may have rules here */
	struct cfi_reader reader;
	struct cfi_rules rules;
	uint64_t location; /* virtual address at which the current rules start to apply */
	uint64_t next;     /* where they stop to apply */
	uint64_t end;
	uint8_t opcode; /* of the current instruction */
	bool failed;    /* an instruction was invalid */
	unsigned int remembered_count;
	struct cfi_rules remembered[CFI_REMEMBER_MAX];
};

struct cfi_span {
	uint64_t start; /* virtual addresses */
	uint64_t end;
	const struct cfi_rules *rules; /* valid until the next call; NULL if unknown */
};

/* Runs the initial instructions of a CIE. Returns false if they are invalid or too long. */
bool cfi_program_initial(const struct cfi_cie *cie, const struct unwind_abi *abi,
			 struct cfi_rules *ret_rules);

void cfi_program_start(struct cfi_program *program, const struct cfi_cie *cie,
		       const struct cfi_rules *initial, const struct unwind_abi *abi,
		       const struct cfi_fde *fde);

/* Marks the rules as unknown from the current location on. */
void cfi_program_fail(struct cfi_program *program);

/*
 * Finds the span that contains a virtual address, or an earlier span in which the stack ends. Spans
 * have at least one byte. Addresses must ascend, and must lie beyond all spans returned so far.
 * Returns false past the end of the function.
 */
bool cfi_program_seek(struct cfi_program *program, uint64_t vaddr, struct cfi_span *ret_span);

#endif
