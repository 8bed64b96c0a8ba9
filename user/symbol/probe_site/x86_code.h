/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks x86 machine code with capstone. Builds for machines that run no x86 programs use
 * without_x86_code.c instead. */
#ifndef MTRACE_SYMBOL_PROBE_SITE_X86_CODE_H
#define MTRACE_SYMBOL_PROBE_SITE_X86_CODE_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/probe_site/function_code.h"

struct x86_walk {
	csh handle;
	cs_insn *insn; /* the current instruction */
	const struct function_code *code;
	size_t offset; /* of the next instruction, relative to the first byte */
	uint64_t address_mask;
};

/* Returns 0, -ENOTSUP for other machines, or -ENOMEM. Call x86_walk_close() also after a
 * failure. */
int x86_walk_open(struct x86_walk *walk, const struct function_code *code);
void x86_walk_close(struct x86_walk *walk);
/* Goes back to the first byte. */
void x86_walk_rewind(struct x86_walk *walk);
/* Decodes the next instruction. Returns false at the end and at bytes that do not decode. */
bool x86_walk_next(struct x86_walk *walk);
/* Returns true if the walk reached the end, rather than bytes that do not decode. */
bool x86_walk_is_complete(const struct x86_walk *walk);

/* Steps over the next instruction and stores its text, truncated to `size`. */
void x86_walk_name(struct x86_walk *walk, char *text, size_t size);

bool x86_is_group(const struct x86_walk *walk, cs_group_type group);
/* The target of the current instruction. Returns false unless it is a direct jump, branch or
 * call. */
bool x86_direct_target(const struct x86_walk *walk, uint64_t *ret_target);
/*
 * The address of the pointer through which the current instruction jumps or calls. Returns false
 * unless that address is fixed. `got` is the value of %ebx in position-independent i386 code.
 */
bool x86_indirect_slot(const struct x86_walk *walk, uint64_t got, uint64_t *ret_slot);
/* The registers that the current instruction writes. Returns their number, or -1 if unknown. */
int x86_written(const struct x86_walk *walk, cs_regs ret_written);

#endif
