/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame instructions (DWARF 5, 6.4.2), run for the few registers that a stack walk needs.
 * A program is a sequence of spans of code, each with the rules that hold in it.
 */
#ifndef MTRACE_SYMBOL_CFI_PROGRAM_H
#define MTRACE_SYMBOL_CFI_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "symbol/cfi/expression.h"
#include "symbol/cfi/reader.h"
#include "symbol/cfi/section.h"

#define CFI_REMEMBER_MAX        16   /* DW_CFA_remember_state, nested; compilers use 1 */
#define CFI_INITIAL_PROGRAM_MAX 1024 /* bytes of a CIE's instructions */

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

/* IP is the return address column; SECOND the other frame pointer of a processor that has two. */
enum cfi_register { CFI_SP, CFI_BP, CFI_IP, CFI_SECOND, CFI_REGISTER_COUNT };

struct cfi_rules {
	struct cfi_location cfa;
	struct cfi_rule registers[CFI_REGISTER_COUNT];
};

struct cfi_program {
	const struct unwind_abi *abi;
	const struct cfi_cie *cie;
	const struct cfi_rules *initial;
	uint64_t known; /* set of registers below 64: all that have rules here are among them */
	struct cfi_reader reader;
	struct cfi_rules rules;
	uint64_t location; /* virtual address from which the rules hold */
	uint64_t next;     /* where the rules will change */
	uint64_t end;
	uint8_t opcode; /* of the instruction that is run */
	bool failed;    /* an instruction makes no sense */
	unsigned int remembered_count;
	struct cfi_rules remembered[CFI_REMEMBER_MAX];
};

struct cfi_span {
	uint64_t start; /* virtual addresses */
	uint64_t end;
	const struct cfi_rules *rules; /* NULL if they cannot be known; until the next call */
};

/* The rules at the start of a CIE's functions; false if its instructions make no sense. */
bool cfi_program_initial(const struct cfi_cie *cie, const struct unwind_abi *abi,
			 struct cfi_rules *ret_rules);

void cfi_program_start(struct cfi_program *program, const struct cfi_cie *cie,
		       const struct cfi_rules *initial, const struct unwind_abi *abi,
		       const struct cfi_fde *fde);

/* From here on the rules are not known. */
void cfi_program_fail(struct cfi_program *program);

/*
 * The span that has the code at a virtual address, of at least one byte; or one before it in which
 * the stack ends. Addresses rise, and none is within a span that was given. False behind the end.
 */
bool cfi_program_seek(struct cfi_program *program, uint64_t vaddr, struct cfi_span *ret_span);

#endif
