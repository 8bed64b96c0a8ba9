/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 64-bit ARM.
 *
 * Return addresses may be signed (paciasp). Instructions that sign or authenticate run as a copy,
 * because only the processor knows the keys. In guarded code, an indirect jump sets BTYPE in
 * pstate, which the next instruction must accept. A breakpoint accepts it, but the instruction that
 * runs in its place may not, so BTYPE is cleared.
 *
 * Sources: Arm Architecture Reference Manual for A-profile, C4.1 (encodings) and C6 (instructions);
 * Procedure Call Standard for the Arm 64-bit Architecture, 6.1 and 6.8.
 */
#include <elf.h>
#include <string.h>

#include "arch/arm_instruction.h"
#include "arch/unwind_row.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define REGISTER_NONE 31 /* in encodings: the zero register or the stack pointer */
#define LINK          30
#define FRAME         29
#define CALL_NUMBER   8
#define ARGUMENTS     8
#define TRAP_KERNEL   1 /* TRAP_BRKPT */

#define INSTRUCTION 4 /* bytes */
#define NEGATIVE    0x80000000ull
#define ZERO        0x40000000ull
#define CARRY       0x20000000ull
#define OVERFLOW    0x10000000ull
#define BRANCH_TYPE 0xc00ull

static const uint8_t trap[] = {0x00, 0x00, 0x20, 0xd4}; /* brk #0 */

/* An instruction to emulate, and its context. */
struct arm64_instruction {
	struct arm64_registers *registers;
	const struct arch_memory *memory;
	uint32_t word;
};

typedef enum arch_step handler(struct arm64_instruction *in);

static uint32_t bits(const struct arm64_instruction *in, unsigned int low, unsigned int count)
{
	return in->word >> low & ((1u << count) - 1);
}

static uint64_t signed_bits(const struct arm64_instruction *in, unsigned int low,
			    unsigned int count)
{
	return (uint64_t)(int64_t)((int32_t)(bits(in, low, count) << (32 - count)) >> (32 - count));
}

#define RD(in) bits(in, 0, 5)
#define RN(in) bits(in, 5, 5)
#define RM(in) bits(in, 16, 5)

static bool is_wide(const struct arm64_instruction *in)
{
	return bits(in, 31, 1);
}

/*
 * Registers.
 */

static uint64_t get_or_zero(const struct arm64_instruction *in, unsigned int number)
{
	return number == REGISTER_NONE ? 0 : in->registers->x[number];
}

static uint64_t get_or_sp(const struct arm64_instruction *in, unsigned int number)
{
	return number == REGISTER_NONE ? in->registers->sp : in->registers->x[number];
}

static void set_or_zero(struct arm64_instruction *in, unsigned int number, uint64_t value)
{
	if (number != REGISTER_NONE)
		in->registers->x[number] = value;
}

static void set_or_sp(struct arm64_instruction *in, unsigned int number, uint64_t value)
{
	if (number == REGISTER_NONE)
		in->registers->sp = value;
	else
		in->registers->x[number] = value;
}

static enum arch_step go_on(struct arm64_instruction *in)
{
	in->registers->pc += 4;
	return ARCH_DONE;
}

static enum arch_step branch(struct arm64_instruction *in, uint64_t target)
{
	in->registers->pc = target;
	return ARCH_DONE;
}

/*
 * Sums.
 */

static uint64_t add(struct arm64_instruction *in, uint64_t left, uint64_t right, bool carry,
		    bool sets_flags)
{
	uint64_t mask = is_wide(in) ? UINT64_MAX : UINT32_MAX;
	uint64_t sign = is_wide(in) ? 1ull << 63 : 1ull << 31, result, flags = 0;
	bool carries;

	left &= mask;
	right &= mask;
	result = (left + right + carry) & mask;
	carries = result < left || (carry && result == left);
	flags |= (result & sign ? NEGATIVE : 0) | (result ? 0 : ZERO) | (carries ? CARRY : 0);
	flags |= (left ^ result) & (right ^ result) & sign ? OVERFLOW : 0;
	if (sets_flags)
		in->registers->pstate =
			(in->registers->pstate & ~(NEGATIVE | ZERO | CARRY | OVERFLOW)) | flags;
	return result;
}

/* add, sub, cmp, mov to and from the stack pointer */
static enum arch_step do_add_immediate(struct arm64_instruction *in)
{
	bool subtracts = bits(in, 30, 1), sets_flags = bits(in, 29, 1);
	uint64_t value = bits(in, 10, 12), result;

	if (bits(in, 22, 1))
		value <<= 12;
	result = add(in, get_or_sp(in, RN(in)), subtracts ? ~value : value, subtracts, sets_flags);
	if (sets_flags)
		set_or_zero(in, RD(in), result);
	else
		set_or_sp(in, RD(in), result);
	return go_on(in);
}

/* add and sub of registers, without a shift. */
static enum arch_step do_add(struct arm64_instruction *in)
{
	bool subtracts = bits(in, 30, 1);
	uint64_t value = get_or_zero(in, RM(in));

	if (bits(in, 10, 6))
		return ARCH_OUT_OF_LINE;
	set_or_zero(in, RD(in),
		    add(in, get_or_zero(in, RN(in)), subtracts ? ~value : value, subtracts,
			bits(in, 29, 1)));
	return go_on(in);
}

/* orr, and mov, which is orr with the zero register */
static enum arch_step do_or(struct arm64_instruction *in)
{
	uint64_t value = get_or_zero(in, RN(in)) | get_or_zero(in, RM(in));

	if (bits(in, 10, 6))
		return ARCH_OUT_OF_LINE;
	set_or_zero(in, RD(in), is_wide(in) ? value : (uint32_t)value);
	return go_on(in);
}

enum wide_move { MOVE_NOT = 0, MOVE_ZERO = 2, MOVE_KEEP = 3 };

static enum arch_step do_move_wide(struct arm64_instruction *in)
{
	unsigned int shift = 16 * bits(in, 21, 2);
	uint64_t value = (uint64_t)bits(in, 5, 16) << shift;

	switch ((enum wide_move)bits(in, 29, 2)) {
	case MOVE_NOT:
		value = ~value;
		break;
	case MOVE_KEEP:
		value |= get_or_zero(in, RD(in)) & ~(0xffffull << shift);
		break;
	case MOVE_ZERO:
		break;
	default:
		return ARCH_REFUSED;
	}
	set_or_zero(in, RD(in), is_wide(in) ? value : (uint32_t)value);
	return go_on(in);
}

/* adr, adrp */
static enum arch_step do_address(struct arm64_instruction *in)
{
	uint64_t distance = signed_bits(in, 5, 19) << 2 | bits(in, 29, 2);
	uint64_t base = in->registers->pc;

	if (is_wide(in)) {
		distance <<= 12;
		base &= ~0xfffull;
	}
	set_or_zero(in, RD(in), base + distance);
	return go_on(in);
}

/*
 * Memory.
 */

static uint64_t word_of(const uint8_t *bytes, size_t size)
{
	uint64_t word = 0;

	for (size_t i = 0; i < size; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return word;
}

static void word_to(uint8_t *bytes, uint64_t word, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(word >> 8 * i);
}

/* Transfers one or two registers, the first at the lowest address. The base becomes
 * `base_after`. */
struct transfer {
	unsigned int registers[2];
	size_t count, size; /* number of registers; bytes of each */
	uint64_t address, base_after;
	bool loads, writes_back;
};

/* Returns true for what the manual calls unpredictable. */
static bool is_odd(const struct arm64_instruction *in, const struct transfer *transfer)
{
	unsigned int first = transfer->registers[0], second = transfer->registers[1];

	if (transfer->loads && transfer->count == 2 && first == second)
		return true;
	return transfer->writes_back && RN(in) != REGISTER_NONE &&
	       (first == RN(in) || (transfer->count == 2 && second == RN(in)));
}

static enum arch_step do_transfer(struct arm64_instruction *in, const struct transfer *transfer)
{
	size_t size = transfer->count * transfer->size;
	uint8_t bytes[2 * sizeof(uint64_t)];

	if (is_odd(in, transfer))
		return ARCH_REFUSED;
	if (transfer->loads && in->memory->read(in->memory->ctx, transfer->address, bytes, size))
		return ARCH_FAULT;
	for (size_t i = 0; i < transfer->count; i++) {
		uint8_t *place = bytes + i * transfer->size;
		unsigned int number = transfer->registers[i];

		if (transfer->loads)
			set_or_zero(in, number, word_of(place, transfer->size));
		else
			word_to(place, get_or_zero(in, number), transfer->size);
	}
	if (!transfer->loads && in->memory->write(in->memory->ctx, transfer->address, bytes, size))
		return ARCH_FAULT;
	if (transfer->writes_back)
		set_or_sp(in, RN(in), transfer->base_after);
	return go_on(in);
}

enum pair_index { PAIR_AFTER = 1, PAIR_OFFSET, PAIR_BEFORE };

/* ldp, stp */
static enum arch_step do_pair(struct arm64_instruction *in)
{
	enum pair_index index = bits(in, 23, 2);
	size_t size = is_wide(in) ? 8 : 4;
	uint64_t base = get_or_sp(in, RN(in));
	uint64_t moved = base + signed_bits(in, 15, 7) * size;
	const struct transfer transfer = {
		.registers = {RD(in), bits(in, 10, 5)},
		.count = 2,
		.size = size,
		.address = index == PAIR_AFTER ? base : moved,
		.base_after = moved,
		.loads = bits(in, 22, 1),
		.writes_back = index != PAIR_OFFSET,
	};

	return index < PAIR_AFTER ? ARCH_OUT_OF_LINE : do_transfer(in, &transfer);
}

static size_t single_size(const struct arm64_instruction *in)
{
	return (size_t)1 << bits(in, 30, 2);
}

/* ldr and str of any size, with an offset in units of that size */
static enum arch_step do_single(struct arm64_instruction *in)
{
	const struct transfer transfer = {
		.registers = {RD(in)},
		.count = 1,
		.size = single_size(in),
		.address = get_or_sp(in, RN(in)) + bits(in, 10, 12) * single_size(in),
		.loads = bits(in, 22, 1),
	};

	return do_transfer(in, &transfer);
}

enum single_index { SINGLE_OFFSET, SINGLE_AFTER, SINGLE_OTHER, SINGLE_BEFORE };

static enum arch_step do_single_around(struct arm64_instruction *in)
{
	enum single_index index = bits(in, 10, 2);
	uint64_t base = get_or_sp(in, RN(in)), moved = base + signed_bits(in, 12, 9);
	const struct transfer transfer = {
		.registers = {RD(in)},
		.count = 1,
		.size = single_size(in),
		.address = index == SINGLE_AFTER ? base : moved,
		.base_after = moved,
		.loads = bits(in, 22, 1),
		.writes_back = index == SINGLE_AFTER || index == SINGLE_BEFORE,
	};

	return index == SINGLE_OTHER ? ARCH_OUT_OF_LINE : do_transfer(in, &transfer);
}

enum literal { LITERAL_32BIT, LITERAL_64BIT, LITERAL_SIGNED, LITERAL_PREFETCHED };

static enum arch_step do_literal(struct arm64_instruction *in)
{
	enum literal kind = bits(in, 30, 2);
	size_t size = kind == LITERAL_64BIT ? 8 : 4;
	uint64_t address = in->registers->pc + signed_bits(in, 5, 19) * 4, value;
	uint8_t bytes[sizeof(value)];

	if (kind == LITERAL_PREFETCHED)
		return go_on(in);
	if (in->memory->read(in->memory->ctx, address, bytes, size))
		return ARCH_REFUSED;
	value = word_of(bytes, size);
	if (kind == LITERAL_SIGNED)
		value = (uint64_t)(int64_t)(int32_t)value;
	set_or_zero(in, RD(in), value);
	return go_on(in);
}

/* Branches. */

/* b, bl */
static enum arch_step do_branch(struct arm64_instruction *in)
{
	uint64_t target = in->registers->pc + signed_bits(in, 0, 26) * 4;

	if (is_wide(in))
		in->registers->x[LINK] = in->registers->pc + 4;
	return branch(in, target);
}

static enum arch_step branch_if(struct arm64_instruction *in, bool taken, uint64_t distance)
{
	return taken ? branch(in, in->registers->pc + distance) : go_on(in);
}

static enum arch_step do_branch_if(struct arm64_instruction *in)
{
	return branch_if(in, arm_condition_holds((uint32_t)in->registers->pstate, bits(in, 0, 4)),
			 signed_bits(in, 5, 19) * 4);
}

/* cbz, cbnz */
static enum arch_step do_compare_branch(struct arm64_instruction *in)
{
	uint64_t value = get_or_zero(in, RD(in));
	bool is_zero = !(is_wide(in) ? value : (uint32_t)value);

	return branch_if(in, is_zero != bits(in, 24, 1), signed_bits(in, 5, 19) * 4);
}

/* tbz, tbnz */
static enum arch_step do_test_branch(struct arm64_instruction *in)
{
	unsigned int bit = bits(in, 31, 1) << 5 | bits(in, 19, 5);

	return branch_if(in, (get_or_zero(in, RD(in)) >> bit & 1) == bits(in, 24, 1),
			 signed_bits(in, 5, 14) * 4);
}

/* br, blr, ret */
static enum arch_step do_branch_register(struct arm64_instruction *in)
{
	uint64_t target = get_or_zero(in, RN(in));

	if (bits(in, 21, 2) == 1)
		in->registers->x[LINK] = in->registers->pc + 4;
	return branch(in, target);
}

static enum arch_step do_nothing(struct arm64_instruction *in)
{
	return go_on(in);
}

static enum arch_step do_refuse(struct arm64_instruction *in)
{
	(void)in;
	return ARCH_REFUSED;
}

static enum arch_step do_line(struct arm64_instruction *in)
{
	(void)in;
	return ARCH_OUT_OF_LINE;
}

/* The first match applies. The last rows are the classes of C4.1. */
static const struct {
	uint32_t mask, bits;
	handler *handle;
} rows[] = {
	{0x1f000000, 0x10000000, do_address},
	{0x1f800000, 0x11000000, do_add_immediate},
	{0x1f800000, 0x12800000, do_move_wide},
	{0x1f200000, 0x0b000000, do_add},
	{0x7f200000, 0x2a000000, do_or},
	{0x7c000000, 0x14000000, do_branch},
	{0xff000010, 0x54000000, do_branch_if},
	{0x7e000000, 0x34000000, do_compare_branch},
	{0x7e000000, 0x36000000, do_test_branch},
	{0xfffffc1f, 0xd61f0000, do_branch_register},
	{0xfffffc1f, 0xd63f0000, do_branch_register},
	{0xfffffc1f, 0xd65f0000, do_branch_register},
	{0xffffffff, 0xd503201f, do_nothing}, /* nop */
	{0xffffff3f, 0xd503241f, do_nothing}, /* landing pads: bti */
	{0xff000000, 0xd5000000, do_line},    /* hints, barriers, system registers */
	{0x1c000000, 0x14000000, do_refuse},  /* other branches, exceptions */
	{0x3f800000, 0x08000000, do_refuse},  /* exclusive accesses: must not be interrupted */
	{0x3f000000, 0x18000000, do_literal},
	{0x3f000000, 0x1c000000, do_refuse}, /* vector literals */
	{0x7e000000, 0x28000000, do_pair},
	{0x3f800000, 0x39000000, do_single},
	{0x3fa00000, 0x38000000, do_single_around},
	{0x0a000000, 0x08000000, do_line}, /* memory */
	{0x0e000000, 0x0a000000, do_line}, /* registers */
	{0x0e000000, 0x0e000000, do_line}, /* vectors */
	{0x1c000000, 0x10000000, do_line}, /* immediates */
	{0x1e000000, 0x04000000, do_line}, /* scalable vectors */
};

static struct arm64_instruction instruction_of(struct arm64_registers *registers,
					       const uint8_t *code,
					       const struct arch_memory *memory)
{
	return (struct arm64_instruction){registers, memory, (uint32_t)word_of(code, 4)};
}

static enum arch_step emulate(struct arch_registers *registers, const uint8_t code[ARCH_CODE_MAX],
			      const struct arch_memory *memory)
{
	struct arm64_instruction in = instruction_of(&registers->arm64, code, memory);
	const struct arm64_registers before = registers->arm64;
	enum arch_step step = ARCH_REFUSED;

	for (size_t i = 0; i < COUNT(rows); i++)
		if ((in.word & rows[i].mask) == rows[i].bits) {
			step = rows[i].handle(&in);
			break;
		}
	if (step)
		registers->arm64 = before;
	else
		registers->arm64.pstate &= ~BRANCH_TYPE;
	return step;
}

static bool can_step(const uint8_t code[ARCH_CODE_MAX], int mode)
{
	(void)mode;
	return arch_can_emulate(&arch_arm64, code);
}

static size_t look(const uint8_t code[ARCH_CODE_MAX], int mode, uint64_t address,
		   uint64_t *ret_target)
{
	(void)mode;
	*ret_target = arch_target_of(&arch_arm64, code, INSTRUCTION, address);
	return INSTRUCTION;
}

/*
 * Registers and calls.
 */

static void load(struct arch_registers *registers, const void *set)
{
	memcpy(&registers->arm64, set, sizeof(registers->arm64));
}

static void store(const struct arch_registers *registers, void *set)
{
	memcpy(set, &registers->arm64, sizeof(registers->arm64));
}

static bool is_32bit(const struct arch_registers *registers)
{
	(void)registers;
	return false;
}

static int mode_of(const struct arch_registers *registers)
{
	(void)registers;
	return 0;
}

static uint64_t get(const struct arch_registers *registers, enum arch_value value)
{
	const struct arm64_registers *arm64 = &registers->arm64;

	switch (value) {
	case ARCH_IP:
		return arm64->pc;
	case ARCH_SP:
		return arm64->sp;
	case ARCH_BP:
		return arm64->x[FRAME];
	case ARCH_LINK:
		return arm64->x[LINK];
	case ARCH_RESULT:
	case ARCH_CALL_FIRST:
		return arm64->x[0];
	case ARCH_CALL:
		return arm64->x[CALL_NUMBER];
	case ARCH_BP_SECOND:
		break;
	}
	return 0;
}

static void set_ip(struct arch_registers *registers, uint64_t ip)
{
	registers->arm64.pc = ip;
}

static uint64_t argument(const struct arch_registers *registers, const struct arch_memory *memory,
			 unsigned int position)
{
	(void)memory;
	return position < ARGUMENTS ? registers->arm64.x[position] : 0;
}

static struct arch_forks forks(const struct arch_registers *registers)
{
	(void)registers;
	return (struct arch_forks){.clone = 220, .clone3 = 435};
}

static const struct unwind_abi *abi(bool is_32bit)
{
	return is_32bit ? &unwind_abi_arm : &unwind_abi_aarch64;
}

static size_t breakpoint(int mode, uint8_t ret_bytes[ARCH_BREAKPOINT_MAX])
{
	(void)mode;
	memcpy(ret_bytes, trap, sizeof(trap));
	return sizeof(trap);
}

/* brk with any immediate. */
static bool traps(const uint8_t code[ARCH_CODE_MAX], int mode)
{
	(void)mode;
	return (word_of(code, 4) & 0xffe0001f) == 0xd4200000;
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
	*copy = (struct arch_copy){.ip = registers->arm64.pc, .slot = slot, .scratch = -1};
	memcpy(copy->code, code, ARCH_CODE_MAX);
	registers->arm64.pstate &= ~BRANCH_TYPE;
	registers->arm64.pc = slot;
}

static void copy_end(const struct arch_copy *copy, struct arch_registers *registers)
{
	registers->arm64.pc += copy->ip - copy->slot;
}

const struct arch arch_arm64 = {
	.name = "arm64",
	.machine = EM_AARCH64,
	.look = look,
	.set_size = sizeof(struct arm64_registers),
	.trap_code = TRAP_KERNEL,
	.links = true,
	.steps = true,
	.chains = true,
	.ip_place = -1,
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
