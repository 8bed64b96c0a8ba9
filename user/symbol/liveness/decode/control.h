/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control flow of an instruction, and its effect on the stack pointer. */
#ifndef MTRACE_SYMBOL_LIVENESS_CONTROL_H
#define MTRACE_SYMBOL_LIVENESS_CONTROL_H

#include <stdint.h>

#include "symbol/liveness/decode/step.h"
#include "symbol/probe_site/x86_code.h"

/* Decodes the current instruction of the walk. Sets the fields that do not depend on sp and bp. */
void liveness_control(const struct x86_walk *walk, struct liveness_step *step);

/* The stack pointer after a step, or LIVENESS_LOST. */
int32_t liveness_sp_after(const struct liveness_step *step);

#endif
