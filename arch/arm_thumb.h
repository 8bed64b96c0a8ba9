/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_ARCH_ARM_THUMB_H
#define MTRACE_ARCH_ARM_THUMB_H

#include "arch/arm_instruction.h"

/* Emulates one instruction of Thumb code. With `asks`, its condition is ignored. */
enum arch_step arm_thumb_emulate(struct arm_instruction *in, bool asks);

#endif
