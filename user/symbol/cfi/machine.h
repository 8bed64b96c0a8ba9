/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the CFI compiler knows of each processor. */
#ifndef MTRACE_SYMBOL_CFI_MACHINE_H
#define MTRACE_SYMBOL_CFI_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "symbol/cfi/calls.h"

/* A signal trampoline of a C library that leaves out its CFI. */
struct cfi_trampoline {
	const char *bytes;
	size_t size;
	abi_u8 kind;      /* UNWIND_CFA_SIGNAL or UNWIND_CFA_SIGNAL_AT */
	short cfa_offset; /* of the row, in words, at the first instruction */
};

/* How a function starts that is only returned to: the outermost one of a coroutine. */
struct cfi_outermost {
	const char *bytes;
	size_t size;
};

/* What is known of a processor beyond struct unwind_abi. */
struct cfi_machine {
	unsigned int machine; /* EM_… */
	const struct unwind_abi *abi;
	cfi_call_search *call_end; /* NULL: nothing is pruned */
	const struct cfi_trampoline *trampolines;
	size_t trampoline_count;
	const struct cfi_outermost *outermost;
	size_t outermost_count;
};

/* The processor (EM_…), or NULL if its stacks are not walked. */
const struct cfi_machine *cfi_machine(unsigned int machine);

/* The ABI of a processor (EM_…), or NULL if its stacks are not walked. */
const struct unwind_abi *cfi_abi(unsigned int machine);

/* The longest call and what belongs to it, of any processor: x86 has 7 bytes, old Arm code 8. */
#define CFI_CALL_MAX 8

/* Can a call of a processor (EM_…) return to behind these bytes? Yes, where that is not known. */
bool cfi_can_return_behind(unsigned int machine, const uint8_t code[CFI_CALL_MAX]);

/*
 * Is this the code that a signal's handler returns to, of a processor (EM_…)? For code that is in
 * no file, as the page that the kernel maps on Arm. Rows hold from the byte before it on.
 */
bool cfi_trampoline_row(unsigned int machine, const void *code, size_t size,
			struct unwind_row *ret_row);

#endif
