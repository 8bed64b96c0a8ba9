// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/liveness/decode/control.h"

#include <elf.h>

#include "symbol/liveness/decode/registers.h"

#define OPERAND_SIZE_PREFIX 0x66

/* A pointer at a fixed address leads to a function. One at an address in a register may lead
 * anywhere. */
static bool is_fixed_pointer(const struct x86_walk *walk)
{
	uint64_t slot;

	return x86_indirect_slot(walk, 0, &slot) &&
	       walk->insn->detail->x86.operands[0].mem.base != X86_REG_EBX;
}

static enum liveness_flow jump_flow(const struct x86_walk *walk, uint64_t *ret_target)
{
	if (x86_direct_target(walk, ret_target))
		return walk->insn->id == X86_INS_JMP ? LIVENESS_FLOW_JUMP : LIVENESS_FLOW_BRANCH;
	return walk->insn->id == X86_INS_JMP && is_fixed_pointer(walk) ? LIVENESS_FLOW_TAIL
								       : LIVENESS_FLOW_ANYWHERE;
}

/* i386 code reads its own address by calling the next instruction, which pops it. */
static bool is_call_of_next(const struct x86_walk *walk, uint64_t target)
{
	return target == walk->insn->address + walk->insn->size;
}

static enum liveness_flow find_flow(const struct x86_walk *walk, uint64_t *ret_target)
{
	*ret_target = 0;
	switch (walk->insn->id) {
	case X86_INS_UD2:
	case X86_INS_HLT:
		return LIVENESS_FLOW_STOP;
	case X86_INS_CALL:
		x86_direct_target(walk, ret_target);
		return is_call_of_next(walk, *ret_target) ? LIVENESS_FLOW_NEXT : LIVENESS_FLOW_CALL;
	case X86_INS_RET:
		return LIVENESS_FLOW_RETURN;
	default:
		break;
	}
	if (x86_is_group(walk, CS_GRP_JUMP) || x86_is_group(walk, CS_GRP_BRANCH_RELATIVE))
		return jump_flow(walk, ret_target);
	if (x86_is_group(walk, CS_GRP_RET) || x86_is_group(walk, CS_GRP_IRET) ||
	    x86_is_group(walk, CS_GRP_CALL))
		return LIVENESS_FLOW_ANYWHERE;
	return LIVENESS_FLOW_NEXT;
}

static void add(struct liveness_step *step, int64_t amount)
{
	step->sp_change = LIVENESS_SP_ADD;
	step->amount = (int32_t)amount;
	if (amount <= -LIVENESS_OFFSET_MAX || amount >= LIVENESS_OFFSET_MAX)
		step->sp_change = LIVENESS_SP_LOSE;
}

static bool is_register(const cs_x86_op *operand, bool (*is_it)(unsigned int))
{
	return operand->type == X86_OP_REG && is_it((unsigned int)operand->reg);
}

/* lea sp, [sp or bp + d] */
static void load_address(const cs_x86_op *source, struct liveness_step *step)
{
	add(step, source->mem.disp);
	if (source->mem.index != X86_REG_INVALID ||
	    (!liveness_is_sp(source->mem.base) && !liveness_is_bp(source->mem.base)))
		step->sp_change = LIVENESS_SP_LOSE;
	else if (liveness_is_bp(source->mem.base) && step->sp_change == LIVENESS_SP_ADD)
		step->sp_change = LIVENESS_SP_FROM_BP;
}

/* Handles an instruction whose first operand is sp. */
static void change_sp(const struct x86_walk *walk, struct liveness_step *step)
{
	const cs_x86 *x86 = &walk->insn->detail->x86;
	const cs_x86_op *source = &x86->operands[1];

	step->sp_change = LIVENESS_SP_LOSE;
	if (x86->op_count != 2)
		return;
	switch (walk->insn->id) {
	case X86_INS_CMP:
	case X86_INS_TEST:
		add(step, 0);
		return;
	case X86_INS_ADD:
		if (source->type == X86_OP_IMM)
			add(step, source->imm);
		return;
	case X86_INS_SUB:
		if (source->type == X86_OP_IMM && source->imm != INT64_MIN)
			add(step, -source->imm);
		return;
	case X86_INS_LEA:
		load_address(source, step);
		return;
	case X86_INS_MOV:
		if (is_register(source, liveness_is_bp))
			step->sp_change = LIVENESS_SP_FROM_BP;
		return;
	default:
		return;
	}
}

static bool writes(const struct x86_walk *walk, bool (*is_it)(unsigned int))
{
	cs_regs written = {0};
	int count = x86_written(walk, written);

	for (int i = 0; i < count; i++)
		if (is_it(written[i]))
			return true;
	return count < 0;
}

static void find_sp_change(const struct x86_walk *walk, struct liveness_step *step)
{
	const cs_x86 *x86 = &walk->insn->detail->x86;
	int word = walk->code->machine == EM_386 ? 4 : 8;
	bool is_short = x86->prefix[2] == OPERAND_SIZE_PREFIX;

	step->amount = 0;
	step->sp_change = LIVENESS_SP_ADD;
	switch (walk->insn->id) {
	case X86_INS_PUSH:
	case X86_INS_PUSHF:
	case X86_INS_PUSHFD:
	case X86_INS_PUSHFQ:
		add(step, -word);
		break;
	case X86_INS_POP:
	case X86_INS_POPF:
	case X86_INS_POPFD:
	case X86_INS_POPFQ:
		add(step, word);
		is_short |= is_register(&x86->operands[0], liveness_is_sp);
		break;
	case X86_INS_LEAVE:
		add(step, word);
		step->sp_change = LIVENESS_SP_FROM_BP;
		break;
	case X86_INS_CALL: /* i386 callees may pop arguments */
		if (step->flow == LIVENESS_FLOW_NEXT)
			add(step, -word);
		else if (word == 4)
			step->sp_change = LIVENESS_SP_LOSE;
		return;
	default:
		if (x86->op_count && is_register(&x86->operands[0], liveness_is_sp))
			change_sp(walk, step);
		else if (writes(walk, liveness_is_sp))
			step->sp_change = LIVENESS_SP_LOSE;
		return;
	}
	if (is_short)
		step->sp_change = LIVENESS_SP_LOSE;
}

void liveness_control(const struct x86_walk *walk, struct liveness_step *step)
{
	step->start = (uint32_t)(walk->insn->address - walk->code->address);
	step->size = (uint8_t)walk->insn->size;
	step->flow = (uint8_t)find_flow(walk, &step->target);
	step->writes_bp = walk->insn->id == X86_INS_LEAVE || writes(walk, liveness_is_bp);
	find_sp_change(walk, step);
}

int32_t liveness_sp_after(const struct liveness_step *step)
{
	int32_t base = step->sp_change == LIVENESS_SP_FROM_BP ? step->bp : step->sp;
	int64_t sp = (int64_t)base + step->amount;

	if (step->sp_change == LIVENESS_SP_LOSE || base == LIVENESS_NOWHERE ||
	    base == LIVENESS_LOST || sp <= -LIVENESS_OFFSET_MAX || sp >= LIVENESS_OFFSET_MAX)
		return LIVENESS_LOST;
	return (int32_t)sp;
}
