// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The disassembler's access information is only trusted in one direction: what it calls a read is a
 * read. Only instructions in the lists below count as overwriting memory or a register, completely
 * and always. Any other memory access counts as a read.
 */
#include "symbol/liveness/decode/effects.h"

#include <elf.h>

#include "symbol/liveness/decode/registers.h"

#define ALL_SAVED   UINT8_MAX
#define ACCESS_MAX  64   /* bytes; larger accesses are not described reliably */
#define EVEX_PREFIX 0x62 /* the store may be masked */

struct effects {
	const struct x86_walk *walk;
	const cs_x86 *x86;
	struct liveness_step *step;
	struct liveness_escapes *escapes;
	unsigned int id;
	int32_t word;
	bool is_32bit;
	bool next_has_frame_pointer;
};

static bool is_listed(unsigned int id, const uint16_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == id)
			return true;
	return false;
}

/* Returns true for an instruction that, if its first operand is memory, writes all of it and does
 * not read it. */
static bool is_store(const struct effects *effects)
{
	static const uint16_t stores[] = {
		X86_INS_MOV,      X86_INS_MOVABS,  X86_INS_MOVAPS,   X86_INS_MOVAPD,
		X86_INS_MOVUPS,   X86_INS_MOVUPD,  X86_INS_MOVDQA,   X86_INS_MOVDQU,
		X86_INS_MOVQ,     X86_INS_MOVD,    X86_INS_MOVSS,    X86_INS_MOVSD,
		X86_INS_MOVLPS,   X86_INS_MOVLPD,  X86_INS_MOVHPS,   X86_INS_MOVHPD,
		X86_INS_MOVNTI,   X86_INS_MOVNTPS, X86_INS_MOVNTPD,  X86_INS_MOVNTDQ,
		X86_INS_VMOVAPS,  X86_INS_VMOVAPD, X86_INS_VMOVUPS,  X86_INS_VMOVUPD,
		X86_INS_VMOVDQA,  X86_INS_VMOVDQU, X86_INS_VMOVQ,    X86_INS_VMOVD,
		X86_INS_VMOVSS,   X86_INS_VMOVSD,  X86_INS_VMOVLPS,  X86_INS_VMOVLPD,
		X86_INS_VMOVHPS,  X86_INS_VMOVHPD, X86_INS_VMOVNTPS, X86_INS_VMOVNTPD,
		X86_INS_VMOVNTDQ,
	};

	if (effects->id >= X86_INS_SETAE && effects->id <= X86_INS_SETS)
		return effects->x86->op_count == 1;
	return effects->x86->op_count == 2 && effects->walk->insn->bytes[0] != EVEX_PREFIX &&
	       is_listed(effects->id, stores, sizeof(stores) / sizeof(stores[0]));
}

/* Returns true if it overwrites its first operand, if that is a register of at least 32 bits. */
static bool is_load(unsigned int id)
{
	static const uint16_t loads[] = {
		X86_INS_MOV,    X86_INS_MOVABS, X86_INS_LEA,  X86_INS_MOVZX, X86_INS_MOVSX,
		X86_INS_MOVSXD, X86_INS_POP,    X86_INS_MOVD, X86_INS_MOVQ,
	};

	return is_listed(id, loads, sizeof(loads) / sizeof(loads[0]));
}

/* xor r,r and sub r,r */
static bool is_zeroing(const struct effects *effects)
{
	const cs_x86_op *operands = effects->x86->operands;

	return (effects->id == X86_INS_XOR || effects->id == X86_INS_SUB) &&
	       effects->x86->op_count == 2 && operands[0].type == X86_OP_REG &&
	       operands[1].type == X86_OP_REG && operands[0].reg == operands[1].reg &&
	       operands[0].size >= 4;
}

/*
 * Registers.
 */

static void read_register(struct effects *effects, unsigned int reg)
{
	effects->step->reads |= liveness_saved_set(effects->is_32bit, reg);
}

static void find_registers_read(struct effects *effects)
{
	cs_regs read, written;
	uint8_t read_count, written_count;

	if (cs_regs_access(effects->walk->handle, effects->walk->insn, read, &read_count, written,
			   &written_count)) {
		effects->escapes->opaque = true;
		return;
	}
	for (uint8_t i = 0; i < read_count; i++)
		read_register(effects, read[i]);
	for (uint8_t i = 0; i < effects->x86->op_count; i++) {
		const cs_x86_op *operand = &effects->x86->operands[i];

		if (operand->type == X86_OP_REG && operand->access != CS_AC_WRITE)
			read_register(effects, (unsigned int)operand->reg);
		if (operand->type != X86_OP_MEM)
			continue;
		read_register(effects, operand->mem.base);
		read_register(effects, operand->mem.index);
	}
}

static void find_registers_written(struct effects *effects)
{
	const cs_x86_op *first = &effects->x86->operands[0];

	if (effects->id == X86_INS_LEAVE)
		effects->step->writes |= liveness_saved_set(effects->is_32bit, X86_REG_EBP);
	if (!effects->x86->op_count || first->type != X86_OP_REG || first->size < 4)
		return;
	if (is_zeroing(effects) || is_load(effects->id))
		effects->step->writes |= liveness_saved_set(effects->is_32bit, first->reg);
}

/* Registers that are read by convention, which the instruction does not show. */
static void find_hidden_reads(struct effects *effects)
{
	const cs_x86_op *first = &effects->x86->operands[0];

	switch (effects->id) {
	case X86_INS_INT: /* i386 system calls */
	case X86_INS_SYSENTER:
		effects->step->reads = ALL_SAVED;
		break;
	case X86_INS_SYSCALL:
		if (effects->is_32bit)
			effects->step->reads = ALL_SAVED;
		break;
	case X86_INS_CALL: /* %ebx for the PLT; call *%gs:0x10 is a system call */
		if (effects->is_32bit)
			read_register(effects, X86_REG_EBX);
		if (first->type == X86_OP_MEM && first->mem.segment != X86_REG_INVALID)
			effects->step->reads = ALL_SAVED;
		break;
	case X86_INS_PUSHAL:
	case X86_INS_PUSHAW:
	case X86_INS_POPAL:
	case X86_INS_POPAW:
	case X86_INS_ENTER:
	case X86_INS_XBEGIN:
		effects->escapes->opaque = true;
		break;
	default:
		break;
	}
}

/*
 * Escapes.
 */

static bool is_frame_pointer(const struct effects *effects, unsigned int reg)
{
	return liveness_is_bp(reg) && effects->step->bp != LIVENESS_NOWHERE;
}

static bool is_frame_register(const struct effects *effects, unsigned int reg)
{
	return liveness_is_sp(reg) || is_frame_pointer(effects, reg);
}

static bool is_nothing(unsigned int index)
{
	return index == X86_REG_INVALID || index == X86_REG_RIZ || index == X86_REG_EIZ;
}

/*
 * Finds the frame offset that a memory operand based on sp or bp names; LIVENESS_LOST if unknown.
 * Returns false if the operand is not in the frame.
 */
static bool find_place(const struct effects *effects, const x86_op_mem *mem, int32_t *ret_at)
{
	int32_t base = liveness_is_sp(mem->base) ? effects->step->sp : effects->step->bp;
	int64_t at;

	*ret_at = LIVENESS_LOST;
	if (is_frame_register(effects, mem->index))
		return true;
	if (!is_frame_register(effects, mem->base))
		return false;
	if (base == LIVENESS_LOST || base == LIVENESS_NOWHERE || !is_nothing(mem->index) ||
	    !liveness_is_whole_frame_register(effects->is_32bit, mem->base) ||
	    mem->disp <= -LIVENESS_OFFSET_MAX || mem->disp >= LIVENESS_OFFSET_MAX)
		return true;
	at = base + mem->disp;
	if (at > -LIVENESS_OFFSET_MAX && at < LIVENESS_OFFSET_MAX)
		*ret_at = (int32_t)at;
	return true;
}

static void escape(struct effects *effects, int32_t at)
{
	struct liveness_escapes *escapes = effects->escapes;
	int32_t *lowest = at >= -effects->word ? &escapes->argument : &escapes->local;

	if (at == LIVENESS_LOST)
		escapes->all = true;
	else if (at < *lowest)
		*lowest = at;
}

static void find_address_taken(struct effects *effects)
{
	const cs_x86_op *operands = effects->x86->operands;
	unsigned int to = (unsigned int)operands[0].reg;
	int32_t at;

	if (!find_place(effects, &operands[1].mem, &at))
		effects->escapes->all |= liveness_is_sp(to);
	else if (!liveness_is_whole_frame_register(effects->is_32bit, to) ||
		 (liveness_is_bp(to) && !effects->next_has_frame_pointer))
		escape(effects, at);
}

/* For mov sp, X and mov X, sp or bp: returns true if the frame's address stays in sp or bp. */
static bool is_frame_move(const struct effects *effects)
{
	const cs_x86_op *to = &effects->x86->operands[0], *from = &effects->x86->operands[1];

	if (to->type != X86_OP_REG || from->type != X86_OP_REG)
		return false;
	if (liveness_is_sp(to->reg))
		return is_frame_pointer(effects, from->reg);
	return liveness_is_bp(to->reg) && liveness_is_sp(from->reg) &&
	       effects->next_has_frame_pointer;
}

/* Returns true if the frame's address escapes through this operand, which is sp or the frame
 * pointer. */
static bool is_taken(const struct effects *effects, const cs_x86_op *operand)
{
	bool is_first = operand == &effects->x86->operands[0];

	switch (effects->id) {
	case X86_INS_CMP:
	case X86_INS_TEST:
		return false;
	case X86_INS_ADD:
	case X86_INS_SUB:
	case X86_INS_AND:
		return !is_first || !liveness_is_sp(operand->reg);
	case X86_INS_MOV:
		if (is_frame_move(effects))
			return false;
		return !is_first || liveness_is_sp(operand->reg);
	case X86_INS_POP:
		return liveness_is_sp(operand->reg);
	default:
		return operand->access != CS_AC_WRITE || liveness_is_sp(operand->reg);
	}
}

static void find_escapes(struct effects *effects)
{
	const cs_x86_op *operands = effects->x86->operands;

	if (effects->id == X86_INS_LEA && effects->x86->op_count == 2) {
		find_address_taken(effects);
		return;
	}
	for (uint8_t i = 0; i < effects->x86->op_count; i++) {
		if (operands[i].type != X86_OP_REG ||
		    !is_frame_register(effects, operands[i].reg) ||
		    !is_taken(effects, &operands[i]))
			continue;
		effects->escapes->all = true;
		/* A stack pointer stored to memory may be in a jump buffer, for
		 * __builtin_longjmp. */
		if (effects->id == X86_INS_MOV && operands[0].type == X86_OP_MEM &&
		    liveness_is_sp(operands[i].reg))
			effects->escapes->opaque = true;
	}
}

/*
 * The frame.
 */

static void read_frame(struct effects *effects, int32_t at, uint32_t size)
{
	struct liveness_step *step = effects->step;

	if (at == LIVENESS_LOST || !size || size > ACCESS_MAX || step->read.size)
		step->reads_frame = true;
	else
		step->read = (struct liveness_range){at, size};
}

static void write_frame(struct effects *effects, int32_t at, uint32_t size)
{
	if (at != LIVENESS_LOST && size <= ACCESS_MAX)
		effects->step->written = (struct liveness_range){at, size};
}

/* The access size of some instructions is too small: use at least that of the other operand. */
static uint32_t largest_size(const struct effects *effects)
{
	uint32_t size = 0;

	for (uint8_t i = 0; i < effects->x86->op_count; i++)
		if (effects->x86->operands[i].size > size)
			size = effects->x86->operands[i].size;
	return size;
}

static uint32_t smallest_size(const struct effects *effects)
{
	uint32_t size = effects->x86->operands[0].size;

	for (uint8_t i = 1; i < effects->x86->op_count; i++)
		if (effects->x86->operands[i].type == X86_OP_REG &&
		    effects->x86->operands[i].size < size)
			size = effects->x86->operands[i].size;
	return size;
}

static void access_memory(struct effects *effects, const cs_x86_op *operand)
{
	int32_t at;

	if (!find_place(effects, &operand->mem, &at))
		return;
	if (operand->mem.segment == X86_REG_FS || operand->mem.segment == X86_REG_GS ||
	    (effects->id == X86_INS_POP && liveness_is_sp(operand->mem.base)))
		at = LIVENESS_LOST;
	if (!is_nothing(operand->mem.index))
		effects->escapes->all = true;
	if (operand == &effects->x86->operands[0] && is_store(effects))
		write_frame(effects, at, smallest_size(effects));
	else
		read_frame(effects, at, operand->size ? largest_size(effects) : 0);
}

/* Accesses through sp and bp as implicit operands. */
static void access_stack(struct effects *effects)
{
	struct liveness_step *step = effects->step;
	bool is_known = step->sp != LIVENESS_LOST && step->sp != LIVENESS_NOWHERE;

	switch (effects->id) {
	case X86_INS_PUSH:
	case X86_INS_PUSHF:
	case X86_INS_PUSHFD:
	case X86_INS_PUSHFQ:
		if (is_known && step->sp_change == LIVENESS_SP_ADD)
			write_frame(effects, step->sp - effects->word, (uint32_t)effects->word);
		break;
	case X86_INS_POP:
	case X86_INS_POPF:
	case X86_INS_POPFD:
	case X86_INS_POPFQ:
		read_frame(effects, is_known ? step->sp : LIVENESS_LOST, (uint32_t)effects->word);
		break;
	case X86_INS_LEAVE:
		read_frame(effects, step->bp == LIVENESS_NOWHERE ? LIVENESS_LOST : step->bp,
			   (uint32_t)effects->word);
		break;
	default:
		break;
	}
}

/* Instructions that access more bytes than their operand size says. */
static bool has_large_operand(unsigned int id)
{
	static const uint16_t ids[] = {
		X86_INS_FXRSTOR,  X86_INS_FXRSTOR64, X86_INS_XRSTOR,
		X86_INS_XRSTOR64, X86_INS_XRSTORS,   X86_INS_XRSTORS64,
		X86_INS_FRSTOR,   X86_INS_FLDENV,    X86_INS_FBLD,
	};

	return is_listed(id, ids, sizeof(ids) / sizeof(ids[0]));
}

static void access_frame(struct effects *effects)
{
	if (effects->id == X86_INS_LEA || effects->id == X86_INS_NOP)
		return;
	for (uint8_t i = 0; i < effects->x86->op_count; i++)
		if (effects->x86->operands[i].type == X86_OP_MEM)
			access_memory(effects, &effects->x86->operands[i]);
	if (has_large_operand(effects->id))
		effects->step->reads_frame = true;
	access_stack(effects);
}

void liveness_effects(const struct x86_walk *walk, bool next_has_frame_pointer,
		      struct liveness_step *step, struct liveness_escapes *escapes)
{
	bool is_32bit = walk->code->machine == EM_386;
	struct effects effects = {
		.walk = walk,
		.x86 = &walk->insn->detail->x86,
		.step = step,
		.escapes = escapes,
		.id = walk->insn->id,
		.word = is_32bit ? 4 : 8,
		.is_32bit = is_32bit,
		.next_has_frame_pointer = next_has_frame_pointer,
	};

	if (!is_zeroing(&effects))
		find_registers_read(&effects);
	find_registers_written(&effects);
	find_hidden_reads(&effects);
	find_escapes(&effects);
	access_frame(&effects);
}
