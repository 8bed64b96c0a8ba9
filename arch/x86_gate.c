/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gates of x86-64 (arch/gate.h). The jump has five bytes (E9 rel32) and stands behind an endbr64,
 * so that indirect calls still find their mark. Most instructions can be copied as they are. Two
 * kinds need a new distance: operands relative to the instruction pointer, and direct branches,
 * whose short forms become long ones. What stores or returns to its own address (calls, system
 * calls, breakpoints), and the few branches without a long form (loop, jrcxz), cannot be displaced.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, appendices A and
 * B.
 */
#include "arch/gate.h"

#include <capstone/capstone.h>
#include <string.h>

#define JUMP_SIZE     5
#define JUMP          0xe9
#define CALL          0xe8
#define BRANCH_ESCAPE 0x0f
#define BRANCH_SHORT  0x70 /* to 0x7f: jcc rel8; the condition is in the lower half … */
#define BRANCH_LONG   0x80 /* … as it is in 0f 80 to 0f 8f: jcc rel32 */
#define BRANCH_SIZE   6
#define BREAKPOINT    0xcc
#define DISTANCE_SIZE 4

/* How an instruction is copied. */
enum kind {
	KIND_PLAIN,
	KIND_RELATIVE, /* an operand relative to the next instruction */
	KIND_BRANCH,   /* a conditional branch with a long form */
	KIND_JUMP,     /* a direct jump */
	KIND_LEAVES,   /* an indirect jump or a return; the copy is the same */
	KIND_LEAVES_RELATIVE,
	KIND_BOUND,
};

struct gate_walk {
	csh handle;
	cs_insn *insn;
	const uint8_t *at;
	size_t left;
	uint64_t address;
};

static bool walk_open(struct gate_walk *walk, const struct gate_code *code)
{
	*walk = (struct gate_walk){.at = code->bytes, .left = code->size, .address = code->address};
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &walk->handle) != CS_ERR_OK)
		return false;
	cs_option(walk->handle, CS_OPT_DETAIL, CS_OPT_ON);
	walk->insn = cs_malloc(walk->handle);
	return walk->insn != NULL;
}

/* Call it also after a failure. */
static void walk_close(struct gate_walk *walk)
{
	if (walk->insn)
		cs_free(walk->insn, 1);
	if (walk->handle)
		cs_close(&walk->handle);
}

static bool walk_next(struct gate_walk *walk)
{
	return cs_disasm_iter(walk->handle, &walk->at, &walk->left, &walk->address, walk->insn);
}

static bool in_group(const struct gate_walk *walk, cs_group_type group)
{
	return cs_insn_group(walk->handle, walk->insn, group);
}

/* Returns true for a direct jump, branch or call. */
static bool has_target(const struct gate_walk *walk, uint64_t *ret_target)
{
	const cs_x86 *x86 = &walk->insn->detail->x86;
	bool branches = in_group(walk, CS_GRP_JUMP) || in_group(walk, CS_GRP_CALL) ||
			in_group(walk, CS_GRP_BRANCH_RELATIVE);

	if (!branches || x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM)
		return false;
	*ret_target = (uint64_t)x86->operands[0].imm;
	return true;
}

static bool is_relative(const cs_x86 *x86)
{
	for (uint8_t i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_MEM && x86->operands[i].mem.base == X86_REG_RIP)
			return true;
	return false;
}

/* Returns true for an operand that has only the lower half of the instruction pointer (67). */
static bool has_narrow_address(const cs_x86 *x86)
{
	for (uint8_t i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_MEM && x86->operands[i].mem.base == X86_REG_EIP)
			return true;
	return false;
}

static enum kind kind_of_direct(const cs_insn *insn)
{
	const uint8_t *opcode = insn->detail->x86.opcode;

	if (insn->id == X86_INS_JMP)
		return KIND_JUMP;
	if ((opcode[0] & 0xf0) == BRANCH_SHORT ||
	    (opcode[0] == BRANCH_ESCAPE && (opcode[1] & 0xf0) == BRANCH_LONG))
		return KIND_BRANCH;
	return KIND_BOUND;
}

static enum kind kind_of(const struct gate_walk *walk)
{
	const cs_x86 *x86 = &walk->insn->detail->x86;
	bool relative = is_relative(x86);
	uint64_t target;

	if (in_group(walk, CS_GRP_CALL) || in_group(walk, CS_GRP_INT) ||
	    in_group(walk, CS_GRP_IRET) || has_narrow_address(x86))
		return KIND_BOUND;
	if (has_target(walk, &target))
		return kind_of_direct(walk->insn);
	if (in_group(walk, CS_GRP_JUMP) || in_group(walk, CS_GRP_RET))
		return relative ? KIND_LEAVES_RELATIVE : KIND_LEAVES;
	if (in_group(walk, CS_GRP_BRANCH_RELATIVE) || in_group(walk, CS_GRP_PRIVILEGE))
		return KIND_BOUND;
	return relative ? KIND_RELATIVE : KIND_PLAIN;
}

static bool leaves(enum kind kind)
{
	return kind == KIND_JUMP || kind == KIND_LEAVES || kind == KIND_LEAVES_RELATIVE;
}

/* Adds up whole instructions until a jump fits. */
static enum gate_refusal measure(struct gate_walk *walk, struct gate_site *site)
{
	while (site->size < JUMP_SIZE) {
		enum kind kind;

		if (site->ends || !walk->left)
			return GATE_SHORT;
		if (*walk->at == BREAKPOINT)
			return GATE_OCCUPIED;
		if (!walk_next(walk))
			return GATE_UNDECODED;
		if (!site->size && walk->insn->id == X86_INS_ENDBR64) {
			site->address = walk->address;
			continue;
		}
		kind = kind_of(walk);
		if (kind == KIND_BOUND)
			return GATE_BOUND;
		site->size += (uint8_t)walk->insn->size;
		site->ends = leaves(kind);
	}
	return GATE_POSSIBLE;
}

/* The start of the site is no middle: who branches there passes the gate. */
static bool is_middle(const struct gate_site *site, uint64_t address)
{
	return address > site->address && address < site->address + site->size;
}

static enum gate_refusal search_branches(struct gate_walk *walk, const struct gate_site *site)
{
	uint64_t target;

	while (walk->left) {
		if (!walk_next(walk))
			return GATE_UNDECODED;
		if (has_target(walk, &target) && is_middle(site, target))
			return GATE_ENTERED;
	}
	return GATE_POSSIBLE;
}

static enum gate_refusal walk_twice(struct gate_walk *walk, const struct gate_code *function,
				    struct gate_site *site)
{
	enum gate_refusal refusal = measure(walk, site);

	if (refusal)
		return refusal;
	walk->at = function->bytes;
	walk->left = function->size;
	walk->address = function->address;
	return search_branches(walk, site);
}

static enum gate_refusal x86_find(const struct gate_code *function, struct gate_site *ret_site)
{
	struct gate_site site = {.address = function->address};
	enum gate_refusal refusal = GATE_NO_MEMORY;
	struct gate_walk walk;

	if (walk_open(&walk, function))
		refusal = walk_twice(&walk, function, &site);
	walk_close(&walk);
	if (!refusal)
		*ret_site = site;
	return refusal;
}

static bool is_branch_opcode(const struct gate_code *text, size_t distance_at)
{
	const uint8_t *before = text->bytes + distance_at;

	if (distance_at >= 1 && (before[-1] == JUMP || before[-1] == CALL))
		return true;
	return distance_at >= 2 && before[-2] == BRANCH_ESCAPE &&
	       (before[-1] & 0xf0) == BRANCH_LONG;
}

static bool x86_is_entered(const struct gate_code *text, const struct gate_site *site)
{
	for (size_t at = 0; at + DISTANCE_SIZE <= text->size; at++) {
		int32_t distance;

		memcpy(&distance, text->bytes + at, sizeof(distance));
		if (is_middle(site, text->address + at + DISTANCE_SIZE + (uint64_t)distance) &&
		    is_branch_opcode(text, at))
			return true;
	}
	return false;
}

/* The copy so far. */
struct gate_copy {
	uint64_t to;
	uint8_t *bytes;
	size_t size;
};

static bool distance_of(uint64_t next, uint64_t target, int32_t *ret_distance)
{
	int64_t distance = (int64_t)(target - next);

	*ret_distance = (int32_t)distance;
	return distance == *ret_distance;
}

static bool x86_jump(uint64_t from, uint64_t to, uint8_t ret_jump[GATE_JUMP_MAX])
{
	int32_t distance;

	if (!distance_of(from + JUMP_SIZE, to, &distance))
		return false;
	ret_jump[0] = JUMP;
	memcpy(ret_jump + 1, &distance, sizeof(distance));
	return true;
}

static bool copy_jump(struct gate_copy *copy, uint64_t target)
{
	if (!x86_jump(copy->to + copy->size, target, copy->bytes + copy->size))
		return false;
	copy->size += JUMP_SIZE;
	return true;
}

static bool copy_branch(struct gate_copy *copy, const cs_insn *insn, uint64_t target)
{
	const uint8_t *opcode = insn->detail->x86.opcode;
	uint8_t condition = (opcode[0] == BRANCH_ESCAPE ? opcode[1] : opcode[0]) & 0xf;
	uint8_t *bytes = copy->bytes + copy->size;
	int32_t distance;

	if (!distance_of(copy->to + copy->size + BRANCH_SIZE, target, &distance))
		return false;
	bytes[0] = BRANCH_ESCAPE;
	bytes[1] = BRANCH_LONG | condition;
	memcpy(bytes + 2, &distance, sizeof(distance));
	copy->size += BRANCH_SIZE;
	return true;
}

static void copy_plain(struct gate_copy *copy, const cs_insn *insn)
{
	memcpy(copy->bytes + copy->size, insn->bytes, insn->size);
	copy->size += insn->size;
}

static bool copy_relative(struct gate_copy *copy, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	uint8_t *distance_at = copy->bytes + copy->size + x86->encoding.disp_offset;
	uint64_t target = insn->address + insn->size + (uint64_t)x86->disp;
	int32_t distance;

	if (x86->encoding.disp_size != DISTANCE_SIZE ||
	    !distance_of(copy->to + copy->size + insn->size, target, &distance))
		return false;
	copy_plain(copy, insn);
	memcpy(distance_at, &distance, sizeof(distance));
	return true;
}

static enum gate_refusal copy_one(struct gate_copy *copy, const struct gate_walk *walk,
				  enum kind kind)
{
	uint64_t target = 0;
	bool near = true;

	(void)has_target(walk, &target);
	switch (kind) {
	case KIND_PLAIN:
	case KIND_LEAVES:
		copy_plain(copy, walk->insn);
		break;
	case KIND_RELATIVE:
	case KIND_LEAVES_RELATIVE:
		near = copy_relative(copy, walk->insn);
		break;
	case KIND_BRANCH:
		near = copy_branch(copy, walk->insn, target);
		break;
	case KIND_JUMP:
		near = copy_jump(copy, target);
		break;
	case KIND_BOUND:
		return GATE_BOUND;
	}
	return near ? GATE_POSSIBLE : GATE_FAR;
}

static enum gate_refusal copy_all(struct gate_walk *walk, const struct gate_code *displaced,
				  struct gate_copy *copy)
{
	enum gate_refusal refusal = GATE_POSSIBLE;
	enum kind kind = KIND_PLAIN;

	while (!refusal && walk->left) {
		if (!walk_next(walk))
			return GATE_UNDECODED;
		kind = kind_of(walk);
		refusal = copy_one(copy, walk, kind);
	}
	if (!refusal && !leaves(kind) && !copy_jump(copy, displaced->address + displaced->size))
		return GATE_FAR;
	return refusal;
}

static enum gate_refusal x86_copy(const struct gate_code *displaced, uint64_t to,
				  uint8_t ret_copy[GATE_COPY_MAX], size_t *ret_size)
{
	struct gate_copy copy = {.to = to, .bytes = ret_copy};
	enum gate_refusal refusal = GATE_NO_MEMORY;
	struct gate_walk walk;

	if (displaced->size > GATE_DISPLACED_MAX)
		return GATE_BOUND;
	if (walk_open(&walk, displaced))
		refusal = copy_all(&walk, displaced, &copy);
	walk_close(&walk);
	*ret_size = copy.size;
	return refusal;
}

const struct arch_gate gate_x86_64 = {
	.jump_size = JUMP_SIZE,
	.find = x86_find,
	.is_entered = x86_is_entered,
	.copy = x86_copy,
	.jump = x86_jump,
};
