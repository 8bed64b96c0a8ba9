/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the code of a gate: a template of stub/abi.h for its kind of function, with the addresses
 * filled in and with a copy of the instructions that the jump displaces.
 */
#ifndef MTRACE_GATE_TEMPLATE_H
#define MTRACE_GATE_TEMPLATE_H

#include <stddef.h>
#include <stdint.h>

#include "arch/gate.h"
#include "stub/abi.h"

/* The image with the functions that gates call and their templates, to be mapped into a process as
 * it is. Empty if this program makes no gates. */
const uint8_t *gate_image(size_t *ret_size);

/* Addresses are those in the process. */
struct gate_order {
	enum stub_kind kind;
	uint64_t address; /* of the gate */
	uint64_t image;
	uint64_t data;
	uint64_t other; /* STUB_NEW: the copy in the gate of a function with the same arguments that
			   returns 0 if it fails; STUB_NEW_ALIGNED: the same, and takes the
			   alignment first; otherwise 0 */
	struct gate_code displaced;
};

/* Where things are in the code of a gate, in bytes. */
struct gate_layout {
	size_t size;
	size_t copy;
	size_t probes[2]; /* of the call, or of its begin and its end; 0: none */
};

struct gate_layout gate_layout_of(enum stub_kind kind);

/* Writes the code of a gate, gate_layout_of(kind).size bytes. Returns what arch_gate.copy returns
 * (arch/gate.h). */
enum gate_refusal gate_make(const struct arch_gate *arch, const struct gate_order *order,
			    uint8_t *ret_code);

#endif
