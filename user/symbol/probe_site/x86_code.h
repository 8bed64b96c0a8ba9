/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walking x86 machine code, by capstone; where no x86 program is traced, without_x86_code.c. */
#ifndef MTRACE_SYMBOL_PROBE_SITE_X86_CODE_H
#define MTRACE_SYMBOL_PROBE_SITE_X86_CODE_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/probe_site/function_code.h"

struct x86_walk {
	csh handle;
	cs_insn *insn; /* the present instruction */
	const struct function_code *code;
	size_t offset; /* of the next instruction, from the first byte */
	uint64_t address_mask;
};

/* 0, -ENOTSUP for other machines, -ENOMEM. x86_walk_close also after failure. */
int x86_walk_open(struct x86_walk *walk, const struct function_code *code);
void x86_walk_close(struct x86_walk *walk);
/* Back to the first byte. */
void x86_walk_rewind(struct x86_walk *walk);
/* The next instruction; false at the end and at bytes that are none. */
bool x86_walk_next(struct x86_walk *walk);
/* Did the walk come to the end, as against bytes that are no instruction? */
bool x86_walk_is_complete(const struct x86_walk *walk);

/* Step over the next instruction and keep its text, as far as there is room. */
void x86_walk_name(struct x86_walk *walk, char *text, size_t size);

bool x86_is_group(const struct x86_walk *walk, cs_group_type group);
/* The target of the present instruction, if it is a direct jump, branch or call. */
bool x86_direct_target(const struct x86_walk *walk, uint64_t *ret_target);
/*
 * The address of the pointer through which the present instruction jumps or calls, if that is a
 * fixed one. `got` is the value of %ebx in position-independent i386 code.
 */
bool x86_indirect_slot(const struct x86_walk *walk, uint64_t got, uint64_t *ret_slot);
/* The registers that the present instruction writes: how many, or -1 if that is not known. */
int x86_written(const struct x86_walk *walk, cs_regs ret_written);

#endif
