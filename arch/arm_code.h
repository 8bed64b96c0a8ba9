/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_ARCH_ARM_CODE_H
#define MTRACE_ARCH_ARM_CODE_H

#include "arch/arm_instruction.h"

/* Emulates one instruction of ARM code. With `asks`, its condition is ignored. */
enum arch_step arm_code_emulate(struct arm_instruction *in, bool asks);

#endif
