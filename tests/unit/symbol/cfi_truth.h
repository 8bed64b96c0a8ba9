/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reference: libdw, an independent reader of call frame information. Computes the caller's
 * registers at an address from made-up registers and memory. For tests with cmocka.
 */
#ifndef MTRACE_TESTS_CFI_TRUTH_H
#define MTRACE_TESTS_CFI_TRUTH_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "arch/unwind.h"

#define SP_INVENTED     0x10000000
#define BP_INVENTED     0x10001000
#define SECOND_INVENTED 0x10002000 /* if there is a second frame pointer */
#define LINK_INVENTED   0x00345670

/* The made-up memory: all words differ, and those near the stack point up the stack. */

static inline uint64_t word_mask(const struct unwind_abi *abi)
{
	return abi->word == 4 ? UINT32_MAX : UINT64_MAX;
}

static inline uint64_t invented_word(const struct unwind_abi *abi, uint64_t address)
{
	return (address * 5 + 0x12345678) & word_mask(abi);
}

static inline int unwind_read(void *ctx, const struct unwind_abi *abi, abi_u64 address,
			      abi_u64 *ret_word)
{
	(void)ctx;
	*ret_word = invented_word(abi, address);
	return 0;
}

/*
 * libdw's side.
 */

struct value {
	bool known;    /* otherwise undefined, or computed from other registers */
	bool in_place; /* the number is the address of the value */
	uint64_t number;
	uint64_t place; /* the address, if it is in_place */
};

struct machine {
	const struct unwind_abi *abi;
	uint64_t ip, sp, bp, second, cfa;
	uint64_t stack[16];
	unsigned int depth;
	bool failed;
};

static inline void push(struct machine *machine, uint64_t number)
{
	assert_true(machine->depth < 16);
	machine->stack[machine->depth++] = number & word_mask(machine->abi);
}

static inline uint64_t pop(struct machine *machine)
{
	assert_true(machine->depth > 0);
	return machine->stack[--machine->depth];
}

static inline void push_register(struct machine *machine, uint64_t number, uint64_t offset)
{
	if (number == machine->abi->dwarf_sp)
		push(machine, machine->sp + offset);
	else if (number == machine->abi->dwarf_bp)
		push(machine, machine->bp + offset);
	else if (machine->abi->dwarf_second && number == machine->abi->dwarf_second)
		push(machine, machine->second + offset);
	else if (number == machine->abi->dwarf_ip)
		push(machine, machine->ip + offset);
	else
		machine->failed = true;
}

static inline void evaluate_binary(struct machine *machine, const Dwarf_Op *op)
{
	uint64_t right = pop(machine), left = pop(machine);

	switch (op->atom) {
	case DW_OP_plus:
		push(machine, left + right);
		break;
	case DW_OP_and:
		push(machine, left & right);
		break;
	case DW_OP_ge:
		push(machine, (int64_t)left >= (int64_t)right);
		break;
	case DW_OP_shl:
		push(machine, left << right);
		break;
	default:
		push(machine, 0);
		machine->failed = true;
	}
}

static inline void evaluate_operation(struct machine *machine, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		push_register(machine, op->atom - DW_OP_breg0, op->number);
	else if (op->atom == DW_OP_bregx)
		push_register(machine, op->number, op->number2);
	else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		push(machine, op->atom - DW_OP_lit0);
	else if (op->atom == DW_OP_call_frame_cfa)
		push(machine, machine->cfa);
	else if (op->atom == DW_OP_deref)
		push(machine, invented_word(machine->abi, pop(machine)));
	else if (op->atom == DW_OP_plus_uconst)
		push(machine, pop(machine) + op->number);
	else if ((op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) || op->atom == DW_OP_regx)
		machine->failed = true;
	else
		evaluate_binary(machine, op);
}

static inline struct value evaluate(struct machine *machine, const Dwarf_Op *ops, size_t count)
{
	struct value value = {.in_place = true};

	machine->depth = 0;
	machine->failed = false;
	for (size_t i = 0; i < count && !machine->failed; i++) {
		if (ops[i].atom == DW_OP_stack_value)
			value.in_place = false;
		else
			evaluate_operation(machine, &ops[i]);
	}
	value.known = !machine->failed && machine->depth > 0;
	value.number = value.known ? pop(machine) : 0;
	return value;
}

struct truth {
	bool end; /* the return address is undefined */
	bool signal;
	bool expressible; /* plain rules, which a row must not refuse */
	struct value cfa, ip, sp, bp;
	uint64_t start, stop; /* virtual addresses for which it is valid */
};

/* A register of the caller. `same` is its current value. */
static inline struct value caller_register(struct machine *machine, Dwarf_Frame *frame, int number,
					   uint64_t same, bool *ret_undefined)
{
	struct value value;
	Dwarf_Op memory[3], *ops;
	size_t count;

	*ret_undefined = false;
	if (dwarf_frame_register(frame, number, memory, &ops, &count))
		return (struct value){0};
	*ret_undefined = count == 0 && ops == memory;
	if (count == 0)
		return (struct value){.known = !*ret_undefined, .number = same};
	value = evaluate(machine, ops, count);
	value.place = value.number;
	if (value.known && value.in_place)
		value.number = invented_word(machine->abi, value.number);
	return value;
}

static inline bool is_plain_cfa(const struct unwind_abi *abi, const Dwarf_Op *ops, size_t count)
{
	int64_t offset, limit = (int64_t)INT16_MAX * abi->word;

	if (count != 1)
		return false;
	offset = (int64_t)(ops->atom == DW_OP_bregx ? ops->number2 : ops->number);
	return offset % abi->word == 0 && offset <= limit && offset >= -limit;
}

/* libdw's result for an address; false if there is none. */
static inline bool find_truth(Dwarf_CFI *cfi, const struct unwind_abi *abi, uint64_t address,
			      struct truth *truth)
{
	struct machine machine = {.abi = abi, .ip = address, .sp = SP_INVENTED, .bp = BP_INVENTED};
	bool ip_undefined, bp_undefined, sp_undefined;
	Dwarf_Frame *frame;
	Dwarf_Op *ops = NULL;
	size_t count = 0;
	int column;

	if (!cfi || dwarf_cfi_addrframe(cfi, address, &frame))
		return false;
	column = dwarf_frame_info(frame, &truth->start, &truth->stop, &truth->signal);
	assert_int_equal(column, abi->dwarf_ip);
	if (!dwarf_frame_cfa(frame, &ops, &count))
		truth->cfa = evaluate(&machine, ops, count);
	machine.cfa = truth->cfa.number;
	truth->ip = caller_register(&machine, frame, abi->dwarf_ip, 0, &ip_undefined);
	truth->bp = caller_register(&machine, frame, abi->dwarf_bp, machine.bp, &bp_undefined);
	truth->sp = caller_register(&machine, frame, abi->dwarf_sp, 0, &sp_undefined);
	truth->end = ip_undefined;
	truth->expressible =
		truth->cfa.known && is_plain_cfa(abi, ops, count) && truth->sp.known &&
		truth->sp.number == truth->cfa.number && truth->ip.known &&
		truth->ip.number ==
			invented_word(abi,
				      truth->cfa.number + (uint64_t)(int64_t)abi->return_offset);
	free(frame);
	return true;
}

#endif
