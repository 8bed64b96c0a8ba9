// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chooses the instruction to probe within an x86 function.
 *
 * Idea: walk from the entry to the first instruction that the kernel emulates, across instructions
 * that do not change the stack pointer, an argument register or memory. At that instruction a probe
 * sees the same state as at the entry, including the return address on top of the stack, so a
 * return probe can be placed there, too.
 *
 * Invariants: every call reaches the site, because nothing between the entry and the site branches.
 * It reaches it once, because no branch of the function leads to the code between its entry and the
 * site. To check this, the whole function is decoded. If anything is uncertain (bytes that do not
 * decode, a computed jump), the entry is used, which is always correct but may be slower.
 *
 * The walk only passes instructions of an allow list. Capstone's list of written registers is
 * checked as well, but it has gaps.
 *
 * For the instructions that the kernel emulates, see push_setup_xol_ops and branch_setup_xol_ops in
 * arch/x86/kernel/uprobes.c. Prefixed forms are not used: depending on the version, the kernel
 * emulates, single-steps or refuses them. Where the kernel optimises nop5, it becomes a call in
 * place that clobbers the red zone of a leaf function. That is only safe at the entry, where the
 * red zone is still unused.
 */
#include "symbol/probe_site/choice.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "symbol/probe_site/x86_code.h"

#define ENDBR_SIZE 4

static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

/*
 * Forms that the kernel emulates, by length and the ranges of their first two bytes.
 */
static const struct emulated_form {
	uint8_t size;
	uint8_t first_min, first_max;
	uint8_t second_min, second_max;
	bool only_64bit;
} emulated_forms[] = {
	{1, 0x50, 0x57, 0x00, 0xff, false}, /* push %rax … %rdi */
	{2, 0x41, 0x41, 0x50, 0x57, true},  /* push %r8 … %r15 */
	{1, 0x90, 0x90, 0x00, 0xff, false}, /* nop */
	{2, 0xeb, 0xeb, 0x00, 0xff, false}, /* jmp rel8 */
	{5, 0xe9, 0xe9, 0x00, 0xff, false}, /* jmp rel32 */
	{5, 0xe8, 0xe8, 0x00, 0xff, false}, /* call rel32 */
	{2, 0x70, 0x7f, 0x00, 0xff, false}, /* jcc rel8 */
	{6, 0x0f, 0x0f, 0x80, 0x8f, false}, /* jcc rel32 */
};

/* Instructions that only write their first operand, or only set flags. */
static const struct plain_instruction {
	uint16_t id;
	bool only_reads;
} plain_instructions[] = {
	{X86_INS_NOP, true},     {X86_INS_ENDBR64, true}, {X86_INS_ENDBR32, true},
	{X86_INS_TEST, true},    {X86_INS_CMP, true},     {X86_INS_BT, true},
	{X86_INS_MOV, false},    {X86_INS_MOVABS, false}, {X86_INS_MOVZX, false},
	{X86_INS_MOVSX, false},  {X86_INS_MOVSXD, false}, {X86_INS_LEA, false},
	{X86_INS_XOR, false},    {X86_INS_OR, false},     {X86_INS_AND, false},
	{X86_INS_ADD, false},    {X86_INS_SUB, false},    {X86_INS_INC, false},
	{X86_INS_DEC, false},    {X86_INS_NEG, false},    {X86_INS_NOT, false},
	{X86_INS_SHL, false},    {X86_INS_SHR, false},    {X86_INS_SAR, false},
	{X86_INS_SETE, false},   {X86_INS_SETNE, false},  {X86_INS_CMOVE, false},
	{X86_INS_CMOVNE, false}, {X86_INS_PXOR, false},   {X86_INS_XORPS, false},
};

#define NAMES 4
/* The registers of the System V AMD64 ABI's arguments, with the names of their parts. */
static const uint16_t argument_registers[][NAMES] = {
	{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
	{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
	{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL},
	{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL},
	{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
	{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
};
static const uint16_t high_bytes[] = {[2] = X86_REG_DH, [3] = X86_REG_CH};
static const uint16_t stack_pointer[NAMES] = {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_emulated(const struct x86_walk *walk)
{
	const uint8_t *bytes = walk->insn->bytes;

	for (size_t i = 0; i < COUNT(emulated_forms); i++) {
		const struct emulated_form *form = &emulated_forms[i];

		if (walk->insn->size == form->size && bytes[0] >= form->first_min &&
		    bytes[0] <= form->first_max && bytes[1] >= form->second_min &&
		    bytes[1] <= form->second_max &&
		    !(form->only_64bit && walk->code->machine == EM_386))
			return true;
	}
	return false;
}

static bool is_nop5(const struct x86_walk *walk)
{
	return walk->insn->size == sizeof(nop5) && !memcmp(walk->insn->bytes, nop5, sizeof(nop5));
}

/* Returns true for the first instruction, or the first one after endbr64. */
static bool is_at_entry(const struct x86_walk *walk)
{
	static const uint8_t endbr64[ENDBR_SIZE] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t start = walk->offset - walk->insn->size;

	return !start ||
	       (start == ENDBR_SIZE && !memcmp(walk->code->bytes, endbr64, sizeof(endbr64)));
}

static bool takes_one_trap(const struct x86_walk *walk)
{
	if (is_nop5(walk))
		return walk->code->nop5_is_free && walk->code->machine == EM_X86_64 &&
		       is_at_entry(walk);
	return is_emulated(walk);
}

static const struct plain_instruction *find_plain(unsigned int id)
{
	for (size_t i = 0; i < COUNT(plain_instructions); i++)
		if (plain_instructions[i].id == id)
			return &plain_instructions[i];
	return NULL;
}

static bool is_part_of(uint16_t reg, const uint16_t names[NAMES])
{
	return reg == names[0] || reg == names[1] || reg == names[2] || reg == names[3];
}

static bool is_argument(uint16_t reg, uint32_t arguments)
{
	for (size_t i = 0; i < COUNT(argument_registers); i++)
		if (arguments & (1u << i) &&
		    (is_part_of(reg, argument_registers[i]) ||
		     (i < COUNT(high_bytes) && high_bytes[i] && reg == high_bytes[i])))
			return true;
	return false;
}

static const char *objection_to_register(const struct x86_walk *walk, uint16_t reg,
					 uint32_t arguments)
{
	if (is_part_of(reg, stack_pointer))
		return "moves the stack pointer";
	if (walk->code->machine == EM_X86_64 && is_argument(reg, arguments))
		return "overwrites an argument";
	return NULL;
}

/* Returns why the walk must not pass the current instruction, or NULL. */
static const char *objection(const struct x86_walk *walk, uint32_t arguments)
{
	const struct plain_instruction *plain = find_plain(walk->insn->id);
	const cs_x86 *x86 = &walk->insn->detail->x86;
	cs_regs written;
	const char *why = NULL;
	int written_count;

	if (!plain || x86->prefix[0] == X86_PREFIX_REP || x86->prefix[0] == X86_PREFIX_REPNE ||
	    x86->prefix[0] == X86_PREFIX_LOCK)
		return plain && plain->only_reads ? NULL : "may change what the probe reads";
	if (plain->only_reads)
		return NULL;
	if (x86->op_count && x86->operands[0].type == X86_OP_MEM)
		return "writes memory";
	if (x86->op_count && x86->operands[0].type == X86_OP_REG)
		why = objection_to_register(walk, x86->operands[0].reg, arguments);
	written_count = x86_written(walk, written);
	if (written_count < 0)
		return "may change what the probe reads";
	for (int i = 0; i < written_count && !why; i++)
		why = objection_to_register(walk, written[i], arguments);
	return why;
}

static void __attribute__((format(printf, 2, 3)))
choice_explain(struct site_choice *choice, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(choice->reason, sizeof(choice->reason), format, args);
	va_end(args);
}

/* Jumps through a register or an indexed table may lead anywhere in the function. */
static bool is_computed_jump(const struct x86_walk *walk)
{
	uint64_t target;

	return x86_is_group(walk, CS_GRP_JUMP) && !x86_direct_target(walk, &target) &&
	       !x86_indirect_slot(walk, 0, &target);
}

/* Returns true, and explains why, if a call might reach the site twice. */
static bool is_reached_again(struct x86_walk *walk, size_t site, struct site_choice *choice)
{
	uint64_t target;

	if (walk->code->size >= FUNCTION_CODE_MAX) {
		choice_explain(choice, "2 traps; too much code to look for branches to +%zu", site);
		return true;
	}
	x86_walk_rewind(walk);
	while (x86_walk_next(walk)) {
		size_t offset = walk->offset - walk->insn->size;

		if (is_computed_jump(walk)) {
			choice_explain(choice, "2 traps; a computed jump at +%zu may lead to +%zu",
				       offset, site);
			return true;
		}
		if (x86_direct_target(walk, &target) && target > walk->code->address &&
		    target - walk->code->address <= site) {
			choice_explain(choice, "2 traps; a branch at +%zu leads back to +%zu",
				       offset, (size_t)(target - walk->code->address));
			return true;
		}
	}
	if (x86_walk_is_complete(walk))
		return false;
	choice_explain(choice, "2 traps; the bytes at +%zu cannot be decoded", walk->offset);
	return true;
}

static void name_instruction(struct x86_walk *walk, struct site_choice *choice)
{
	x86_walk_name(walk, choice->instruction, sizeof(choice->instruction));
}

static void choice_take(struct x86_walk *walk, size_t site, struct site_choice *choice)
{
	walk->offset = site;
	choice->offset = site;
	choice->emulated = true;
	name_instruction(walk, choice);
}

/* Walks to the first emulated instruction. Returns false, and explains why, if there is none. */
static bool find_emulated(struct x86_walk *walk, uint32_t arguments, size_t *ret_site,
			  struct site_choice *choice)
{
	while (x86_walk_next(walk)) {
		size_t offset = walk->offset - walk->insn->size;
		const char *why;

		if (takes_one_trap(walk)) {
			*ret_site = offset;
			return true;
		}
		why = objection(walk, arguments);
		if (why) {
			choice_explain(choice, "2 traps; %s at +%zu %s", walk->insn->mnemonic,
				       offset, why);
			return false;
		}
	}
	choice_explain(choice, "2 traps; no cheaper instruction up to +%zu", walk->offset);
	return false;
}

static void choose(struct x86_walk *walk, uint32_t arguments, struct site_choice *choice)
{
	char first[CS_MNEMONIC_SIZE] = "";
	size_t site;

	name_instruction(walk, choice);
	x86_walk_rewind(walk);
	if (x86_walk_next(walk))
		memcpy(first, walk->insn->mnemonic, sizeof(first));
	x86_walk_rewind(walk);
	if (!find_emulated(walk, arguments, &site, choice))
		return;
	if (!site) {
		choice->emulated = true;
		choice_explain(choice, "emulated, 1 trap");
	} else if (!is_reached_again(walk, site, choice)) {
		choice_take(walk, site, choice);
		choice_explain(choice, "emulated, 1 trap; entry is %s: 2 traps", first);
	}
}

void site_choose(const struct function_code *code, uint32_t arguments, struct site_choice *ret)
{
	struct x86_walk walk;

	*ret = (struct site_choice){0};
	if (x86_walk_open(&walk, code))
		choice_explain(ret, "at the entry; code of this architecture is not analyzed");
	else
		choose(&walk, arguments, ret);
	x86_walk_close(&walk);
}
