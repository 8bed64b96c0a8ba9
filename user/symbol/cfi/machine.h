/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the CFI compiler knows about each processor. */
#ifndef MTRACE_SYMBOL_CFI_MACHINE_H
#define MTRACE_SYMBOL_CFI_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "symbol/cfi/calls.h"

/* A signal trampoline of a C library that has no CFI for it. */
struct cfi_trampoline {
	const char *bytes;
	size_t size;
	abi_u8 kind;      /* UNWIND_CFA_SIGNAL or UNWIND_CFA_SIGNAL_AT */
	short cfa_offset; /* of its row, in words; valid at the first instruction */
};

/* The first bytes of a function that is only returned to: the outermost one of a coroutine. */
struct cfi_outermost {
	const char *bytes;
	size_t size;
};

/* What is known about a processor beyond struct unwind_abi. */
struct cfi_machine {
	unsigned int machine; /* EM_… */
	const struct unwind_abi *abi;
	cfi_call_search *call_end; /* NULL: nothing is pruned */
	const struct cfi_trampoline *trampolines;
	size_t trampoline_count;
	const struct cfi_outermost *outermost;
	size_t outermost_count;
};

/* Looks up a processor by EM_… number. NULL if its stacks cannot be unwound. */
const struct cfi_machine *cfi_machine(unsigned int machine);

/* The ABI of a processor (EM_…), or NULL if its stacks cannot be unwound. */
const struct unwind_abi *cfi_abi(unsigned int machine);

/* Length in bytes of the longest call sequence: 7 on x86, 8 in old Arm code (MOV lr, pc and the
 * branch). */
#define CFI_CALL_MAX 8

/* Returns true if these bytes can end with a call of the processor (EM_…), or if that is not
 * known. */
bool cfi_can_return_behind(unsigned int machine, const uint8_t code[CFI_CALL_MAX]);

/*
 * Returns true and the row if this code is a signal trampoline of a processor (EM_…). For code that
 * is in no file, such as the signal page that the kernel maps on Arm. The row also covers the byte
 * before the code.
 */
bool cfi_trampoline_row(unsigned int machine, const void *code, size_t size,
			struct unwind_row *ret_row);

#endif
