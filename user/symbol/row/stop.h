/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reasons why the CFI compiler ends a stack, and its statistics. */
#ifndef MTRACE_SYMBOL_ROW_STOP_H
#define MTRACE_SYMBOL_ROW_STOP_H

#include <stdint.h>

/* Why code got an UNWIND_CFA_STOP row. */
enum cfi_stop {
	CFI_STOP_NONE = 0,
	CFI_STOP_PROGRAM,      /* its CFI is invalid or nests too deeply */
	CFI_STOP_CFA_REGISTER, /* the CFA is based on a register other than sp or bp */
	CFI_STOP_CFA_FORM,     /* the CFA is an expression that no row can express */
	CFI_STOP_CFA_RANGE,    /* the CFA offset is too large, or not a multiple of a word */
	CFI_STOP_RETURN,       /* the return address is not at its usual place */
	CFI_STOP_SP,           /* the caller's sp is not the CFA */
	CFI_STOP_SIGNAL,       /* a signal frame of unusual layout */
	CFI_STOP_COUNT,
};

struct cfi_counts {
	uint32_t functions; /* FDEs compiled */
	uint32_t broken;    /* unreadable FDEs; their code is a gap */
	uint32_t outside;   /* FDEs of code that is not in the file (discarded sections) */
	uint32_t doubled;   /* FDEs of code that another FDE describes */
	uint32_t stops[CFI_STOP_COUNT]; /* spans of code by reason; in a pruned table, only kept
					   ones */
	uint32_t lost_bp;               /* spans whose frame pointer rule no row can express */
};

const char *cfi_stop_name(enum cfi_stop stop);

#endif
