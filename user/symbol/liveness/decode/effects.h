/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an instruction reads and writes, and which addresses it lets escape. */
#ifndef MTRACE_SYMBOL_LIVENESS_EFFECTS_H
#define MTRACE_SYMBOL_LIVENESS_EFFECTS_H

#include <stdbool.h>

#include "symbol/liveness/decode/step.h"
#include "symbol/probe_site/x86_code.h"

/*
 * Decodes the effects of the instruction at which the walk is, and stores them in its step, which
 * already has sp and bp. Adds the addresses that leave the function to the escapes.
 * `next_has_frame_pointer`: the CFA of the next instruction is based on bp.
 */
void liveness_effects(const struct x86_walk *walk, bool next_has_frame_pointer,
		      struct liveness_step *step, struct liveness_escapes *escapes);

#endif
