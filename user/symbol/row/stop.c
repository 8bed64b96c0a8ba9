// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/row/stop.h"

const char *cfi_stop_name(enum cfi_stop stop)
{
	static const char *const names[CFI_STOP_COUNT] = {
		[CFI_STOP_NONE] = "none",
		[CFI_STOP_PROGRAM] = "bad program",
		[CFI_STOP_CFA_REGISTER] = "CFA from another register",
		[CFI_STOP_CFA_FORM] = "CFA by another expression",
		[CFI_STOP_CFA_RANGE] = "CFA offset out of range",
		[CFI_STOP_RETURN] = "return address elsewhere",
		[CFI_STOP_SP] = "sp is not the CFA",
		[CFI_STOP_SIGNAL] = "unusual signal frame",
	};

	return stop < CFI_STOP_COUNT ? names[stop] : "unknown";
}
