/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why the CFI compiler ends a stack, and what it counts. */
#ifndef MTRACE_SYMBOL_ROW_STOP_H
#define MTRACE_SYMBOL_ROW_STOP_H

#include <stdint.h>

/* Why code got an UNWIND_CFA_STOP row. */
enum cfi_stop {
	CFI_STOP_NONE = 0,
	CFI_STOP_PROGRAM,      /* its CFI makes no sense, or nests too deeply */
	CFI_STOP_CFA_REGISTER, /* the CFA is computed from another register than sp or bp */
	CFI_STOP_CFA_FORM,     /* by an expression that no row has */
	CFI_STOP_CFA_RANGE,    /* with an offset that is too large, or no multiple of a word */
	CFI_STOP_RETURN,       /* the return address is not at its usual place */
	CFI_STOP_SP,           /* the caller's sp is not the CFA */
	CFI_STOP_SIGNAL,       /* a signal frame of unusual layout */
	CFI_STOP_COUNT,
};

struct cfi_counts {
	uint32_t functions; /* FDEs compiled */
	uint32_t broken;    /* FDEs that cannot be read; their code is a gap */
	uint32_t outside;   /* of code that the file does not have (as of discarded sections) */
	uint32_t doubled;   /* of code that another FDE describes */
	uint32_t stops[CFI_STOP_COUNT]; /* spans of code by reason; if pruned, of those kept */
	uint32_t lost_bp;               /* spans whose frame pointer rule no row has; likewise */
};

const char *cfi_stop_name(enum cfi_stop stop);

#endif
