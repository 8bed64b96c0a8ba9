/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 32-bit PowerPC, big-endian: code and memory are read as such on every machine.
 *
 * Sources: Power ISA, book I, 2 (branches) and 3 (integers); System V ABI, PowerPC processor
 * supplement, 3 (registers, stack frames); arch/powerpc/kernel/traps.c for the breakpoint
 * instructions.
 */
#include <elf.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/unwind_row.h"

#define INSTRUCTION  4 /* bytes */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define STACK       1
#define RESULT      3
#define ARGUMENTS   8 /* in registers from RESULT on; others are above the frame's two words */
#define FRAME       31
#define CALL_NUMBER 0
#define TRAP_KERNEL 1 /* TRAP_BRKPT */
#define FRAME_HEAD  8

#define SPECIAL_XER  1
#define SPECIAL_LINK 8
#define SPECIAL_CTR  9

static const uint8_t trap[] = {0x7f, 0xe0, 0x00, 0x08};

/* An instruction to emulate, and its context. */
struct powerpc_instruction {
	struct powerpc_registers *registers;
	const struct arch_memory *memory;
	uint32_t word;
};

typedef enum arch_step handler(struct powerpc_instruction *in);

/* Bits are numbered as in the manual: bit 0 is the highest. */
static uint32_t bits(const struct powerpc_instruction *in, unsigned int first, unsigned int last)
{
	return in->word >> (31 - last) & ((1u << (last - first + 1)) - 1);
}

#define RT(in) bits(in, 6, 10)
#define RA(in) bits(in, 11, 15)
#define RB(in) bits(in, 16, 20)

static uint32_t signed_immediate(const struct powerpc_instruction *in)
{
	return (uint32_t)(int32_t)(int16_t)bits(in, 16, 31);
}

static uint32_t word_of(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

static void word_to(uint8_t *bytes, uint32_t word)
{
	for (unsigned int i = 0; i < sizeof(word); i++)
		bytes[i] = (uint8_t)(word >> (24 - 8 * i));
}

/* As a base or addend, register 0 reads as zero. */
static uint32_t base(const struct powerpc_instruction *in)
{
	return RA(in) ? in->registers->r[RA(in)] : 0;
}

static enum arch_step go_on(struct powerpc_instruction *in)
{
	in->registers->nip += 4;
	return ARCH_DONE;
}

static enum arch_step set(struct powerpc_instruction *in, unsigned int number, uint32_t value)
{
	in->registers->r[number] = value;
	return go_on(in);
}

/* Numbers. */

/* addi, and li */
static enum arch_step do_add(struct powerpc_instruction *in)
{
	return set(in, RT(in), base(in) + signed_immediate(in));
}

/* addis, and lis */
static enum arch_step do_add_shifted(struct powerpc_instruction *in)
{
	return set(in, RT(in), base(in) + (bits(in, 16, 31) << 16));
}

/* ori, and nop */
static enum arch_step do_or_immediate(struct powerpc_instruction *in)
{
	return set(in, RA(in), in->registers->r[RT(in)] | bits(in, 16, 31));
}

/* or, and mr; without flags */
static enum arch_step do_or(struct powerpc_instruction *in)
{
	return set(in, RA(in), in->registers->r[RT(in)] | in->registers->r[RB(in)]);
}

/* Sets less, greater, equal, and copies the summary overflow bit. */
static enum arch_step compare(struct powerpc_instruction *in, bool less, bool equal)
{
	struct powerpc_registers *registers = in->registers;
	unsigned int shift = 28 - 4 * bits(in, 6, 8);
	uint32_t field = (less ? 8u : equal ? 2u : 4u) | registers->xer >> 31;

	registers->cr = (registers->cr & ~(0xfu << shift)) | field << shift;
	return go_on(in);
}

static enum arch_step do_compare_signed(struct powerpc_instruction *in)
{
	int32_t left = (int32_t)in->registers->r[RA(in)];
	int32_t right = (int32_t)signed_immediate(in);

	return compare(in, left < right, left == right);
}

static enum arch_step do_compare_unsigned(struct powerpc_instruction *in)
{
	uint32_t left = in->registers->r[RA(in)], right = bits(in, 16, 31);

	return compare(in, left < right, left == right);
}

/*
 * Memory.
 */

static enum arch_step do_store(struct powerpc_instruction *in)
{
	bool updates = bits(in, 5, 5);
	uint32_t address = base(in) + signed_immediate(in);
	uint8_t bytes[4];

	if (updates && !RA(in))
		return ARCH_REFUSED;
	word_to(bytes, in->registers->r[RT(in)]);
	if (in->memory->write(in->memory->ctx, address, bytes, sizeof(bytes)))
		return ARCH_FAULT;
	if (updates)
		in->registers->r[RA(in)] = address;
	return go_on(in);
}

static enum arch_step do_load(struct powerpc_instruction *in)
{
	bool updates = bits(in, 5, 5);
	uint32_t address = base(in) + signed_immediate(in);
	uint8_t bytes[4];

	if (updates && (!RA(in) || RA(in) == RT(in)))
		return ARCH_REFUSED;
	if (in->memory->read(in->memory->ctx, address, bytes, sizeof(bytes)))
		return ARCH_FAULT;
	if (updates)
		in->registers->r[RA(in)] = address;
	return set(in, RT(in), word_of(bytes));
}

/*
 * Special registers.
 */

static uint32_t *special(const struct powerpc_instruction *in)
{
	switch (bits(in, 16, 20) << 5 | bits(in, 11, 15)) {
	case SPECIAL_LINK:
		return &in->registers->lr;
	case SPECIAL_CTR:
		return &in->registers->ctr;
	case SPECIAL_XER:
		return &in->registers->xer;
	}
	return NULL;
}

static enum arch_step do_move_from(struct powerpc_instruction *in)
{
	const uint32_t *from = special(in);

	return from ? set(in, RT(in), *from) : ARCH_OUT_OF_LINE;
}

static enum arch_step do_move_to(struct powerpc_instruction *in)
{
	uint32_t *to = special(in);

	if (!to)
		return ARCH_OUT_OF_LINE;
	*to = in->registers->r[RT(in)];
	return go_on(in);
}

/* mfcr; another form reads a single field */
static enum arch_step do_move_condition(struct powerpc_instruction *in)
{
	return bits(in, 11, 11) ? ARCH_OUT_OF_LINE : set(in, RT(in), in->registers->cr);
}

/*
 * Branches.
 */

static enum arch_step branch(struct powerpc_instruction *in, bool taken, uint32_t target)
{
	struct powerpc_registers *registers = in->registers;
	uint32_t next = registers->nip + 4;

	if (bits(in, 31, 31))
		registers->lr = next;
	registers->nip = taken ? target & ~3u : next;
	return ARCH_DONE;
}

#define ANY_CONDITION 0x10 /* bits of BO, the condition operand of branches */
#define IF_SET        0x08
#define ANY_COUNT     0x04
#define IF_COUNTED    0x02

/* Decrements the counter first, if the branch uses it. */
static bool is_taken(struct powerpc_instruction *in)
{
	uint32_t option = RT(in), condition = RA(in);
	bool holds = option & ANY_CONDITION ||
		     (in->registers->cr >> (31 - condition) & 1) == !!(option & IF_SET);

	if (!(option & ANY_COUNT)) {
		bool counted = !--in->registers->ctr;

		holds &= counted == !!(option & IF_COUNTED);
	}
	return holds;
}

static uint32_t origin(const struct powerpc_instruction *in)
{
	return bits(in, 30, 30) ? 0 : in->registers->nip;
}

static enum arch_step do_branch(struct powerpc_instruction *in)
{
	int32_t distance = (int32_t)(bits(in, 6, 29) << 8) >> 6;

	return branch(in, true, origin(in) + (uint32_t)distance);
}

static enum arch_step do_branch_if(struct powerpc_instruction *in)
{
	uint32_t target = origin(in) + (signed_immediate(in) & ~3u);

	return branch(in, is_taken(in), target);
}

static enum arch_step do_branch_link(struct powerpc_instruction *in)
{
	uint32_t target = in->registers->lr;

	return branch(in, is_taken(in), target);
}

static enum arch_step do_branch_counter(struct powerpc_instruction *in)
{
	if (!(RT(in) & ANY_COUNT))
		return ARCH_REFUSED;
	return branch(in, is_taken(in), in->registers->ctr);
}

static enum arch_step do_refuse(struct powerpc_instruction *in)
{
	(void)in;
	return ARCH_REFUSED;
}

/* The first match applies. Other instructions run as a copy: only branches depend on their
 * address. */
static const struct {
	uint32_t mask, bits;
	handler *handle;
} rows[] = {
	{0xfc000000, 0x38000000, do_add},
	{0xfc000000, 0x3c000000, do_add_shifted},
	{0xfc000000, 0x60000000, do_or_immediate},
	{0xfc0007ff, 0x7c000378, do_or},
	{0xfc600000, 0x2c000000, do_compare_signed},
	{0xfc600000, 0x28000000, do_compare_unsigned},
	{0xf8000000, 0x90000000, do_store},
	{0xf8000000, 0x80000000, do_load},
	{0xfc0007fe, 0x7c0002a6, do_move_from},
	{0xfc0007fe, 0x7c0003a6, do_move_to},
	{0xfc0007fe, 0x7c000026, do_move_condition},
	{0xfc000000, 0x48000000, do_branch},
	{0xfc000000, 0x40000000, do_branch_if},
	{0xfc0007fe, 0x4c000020, do_branch_link},
	{0xfc0007fe, 0x4c000420, do_branch_counter},
	{0xfc000000, 0x0c000000, do_refuse}, /* traps */
	{0xfc0007fe, 0x7c000008, do_refuse},
	{0xfc000000, 0x44000000, do_refuse}, /* system calls */
	{0xfc0007fe, 0x4c000064, do_refuse}, /* returns from exceptions */
	{0xfc0007fe, 0x7c000028, do_refuse}, /* exclusive: must not be interrupted; words, … */
	{0xfc0007fe, 0x7c00012c, do_refuse},
	{0xfc0007fe, 0x7c000068, do_refuse}, /* … bytes … */
	{0xfc0007fe, 0x7c00056c, do_refuse},
	{0xfc0007fe, 0x7c0000e8, do_refuse}, /* … and halfwords */
	{0xfc0007fe, 0x7c0005ac, do_refuse},
	{0xfc000000, 0x00000000, do_refuse}, /* illegal */
};

static enum arch_step emulate(struct arch_registers *registers, const uint8_t code[ARCH_CODE_MAX],
			      const struct arch_memory *memory)
{
	struct powerpc_instruction in = {&registers->ppc, memory, word_of(code)};
	const struct powerpc_registers before = registers->ppc;
	enum arch_step step = ARCH_OUT_OF_LINE;

	for (size_t i = 0; i < COUNT(rows); i++)
		if ((in.word & rows[i].mask) == rows[i].bits) {
			step = rows[i].handle(&in);
			break;
		}
	if (step)
		registers->ppc = before;
	return step;
}

static bool can_step(const uint8_t code[ARCH_CODE_MAX], int mode)
{
	(void)mode;
	return arch_can_emulate(&arch_powerpc, code);
}

static size_t look(const uint8_t code[ARCH_CODE_MAX], int mode, uint64_t address,
		   uint64_t *ret_target)
{
	(void)mode;
	*ret_target = arch_target_of(&arch_powerpc, code, INSTRUCTION, address);
	return INSTRUCTION;
}

/*
 * Registers and calls.
 */

static void load(struct arch_registers *registers, const void *set)
{
	memcpy(&registers->ppc, set, sizeof(registers->ppc));
}

static void store(const struct arch_registers *registers, void *set)
{
	memcpy(set, &registers->ppc, sizeof(registers->ppc));
}

static bool is_32bit(const struct arch_registers *registers)
{
	(void)registers;
	return true;
}

static int mode_of(const struct arch_registers *registers)
{
	(void)registers;
	return 0;
}

static uint64_t get(const struct arch_registers *registers, enum arch_value value)
{
	const struct powerpc_registers *ppc = &registers->ppc;

	switch (value) {
	case ARCH_IP:
		return ppc->nip;
	case ARCH_SP:
		return ppc->r[STACK];
	case ARCH_BP:
		return ppc->r[FRAME];
	case ARCH_LINK:
		return ppc->lr;
	case ARCH_RESULT:
		return ppc->r[RESULT];
	case ARCH_CALL_FIRST:
		return ppc->orig_r3;
	case ARCH_CALL:
		return ppc->r[CALL_NUMBER];
	case ARCH_BP_SECOND:
		break;
	}
	return 0;
}

static void set_ip(struct arch_registers *registers, uint64_t ip)
{
	registers->ppc.nip = (uint32_t)ip;
}

static uint64_t argument(const struct arch_registers *registers, const struct arch_memory *memory,
			 unsigned int position)
{
	uint32_t at = registers->ppc.r[STACK] + FRAME_HEAD + 4 * (position - ARGUMENTS);
	uint8_t bytes[4];

	if (position < ARGUMENTS)
		return registers->ppc.r[RESULT + position];
	return memory->read(memory->ctx, at, bytes, sizeof(bytes)) ? 0 : word_of(bytes);
}

static struct arch_forks forks(const struct arch_registers *registers)
{
	(void)registers;
	return (struct arch_forks){.clone = 120, .vfork = 189, .clone3 = 435};
}

static const struct unwind_abi *abi(bool is_32bit)
{
	(void)is_32bit;
	return &unwind_abi_powerpc;
}

static size_t breakpoint(int mode, uint8_t ret_bytes[ARCH_BREAKPOINT_MAX])
{
	(void)mode;
	memcpy(ret_bytes, trap, sizeof(trap));
	return sizeof(trap);
}

/* Traps with any condition. */
static bool traps(const uint8_t code[ARCH_CODE_MAX], int mode)
{
	(void)mode;
	return (word_of(code) & 0xfc0007fe) == 0x7c000008 || word_of(code) >> 26 == 3;
}

/* trap_distance is 0: any thread may be there. */
static bool may_be_behind(const uint8_t code[ARCH_CODE_MAX])
{
	(void)code;
	return true;
}

static uint64_t slot_at(uint64_t pointer)
{
	return pointer;
}

static void copy_begin(struct arch_copy *copy, struct arch_registers *registers,
		       const uint8_t code[ARCH_CODE_MAX], uint64_t slot)
{
	*copy = (struct arch_copy){.ip = registers->ppc.nip, .slot = slot, .scratch = -1};
	memcpy(copy->code, code, ARCH_CODE_MAX);
	registers->ppc.nip = (uint32_t)slot;
}

static void copy_end(const struct arch_copy *copy, struct arch_registers *registers)
{
	registers->ppc.nip += (uint32_t)(copy->ip - copy->slot);
}

const struct arch arch_powerpc = {
	.name = "powerpc",
	.machine = EM_PPC,
	.look = look,
	.set_size = sizeof(struct powerpc_registers),
	.trap_code = TRAP_KERNEL,
	.links = true,
	.steps = true,
	.ip_place = offsetof(struct powerpc_registers, nip),
	.load = load,
	.store = store,
	.is_32bit = is_32bit,
	.mode_of = mode_of,
	.get = get,
	.set_ip = set_ip,
	.argument = argument,
	.forks = forks,
	.abi = abi,
	.breakpoint = breakpoint,
	.traps = traps,
	.may_be_behind = may_be_behind,
	.emulate = emulate,
	.can_step = can_step,
	.slot_at = slot_at,
	.copy_begin = copy_begin,
	.copy_end = copy_end,
};
