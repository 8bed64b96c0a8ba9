/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers and their parts, as capstone numbers them. */
#ifndef MTRACE_SYMBOL_LIVENESS_REGISTERS_H
#define MTRACE_SYMBOL_LIVENESS_REGISTERS_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

/* The bit of the callee-saved register that a register is part of, or 0. */
uint8_t liveness_saved_set(bool is_32bit, unsigned int reg);

bool liveness_is_sp(unsigned int reg);
bool liveness_is_bp(unsigned int reg);
/* Returns true for the full sp or bp, rather than a part of it. */
bool liveness_is_whole_frame_register(bool is_32bit, unsigned int reg);

#endif
