/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A jump over the first bytes of a function. */
#ifndef MTRACE_GATE_PLACE_PATCH_H
#define MTRACE_GATE_PLACE_PATCH_H

#include <stdint.h>

#include "arch/gate.h"

struct gate_patch {
	uint64_t address;  /* struct gate_site.address */
	uint8_t displaced; /* bytes of whole instructions (struct gate_site.size) */
	uint8_t jump_size; /* bytes that are written; at most `displaced` */
	uint8_t original[GATE_DISPLACED_MAX]; /* `displaced` bytes */
	uint8_t jump[GATE_JUMP_MAX];
};

#endif
