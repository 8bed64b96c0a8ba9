/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 32-bit ARM, both instruction sets. The mode is 1 for Thumb, as in the low bit of a code pointer.
 *
 * The kernel cannot single-step (PTRACE_SINGLESTEP returns EIO), so a breakpoint after the copy
 * ends its run. Only instructions that neither read nor write the program counter run as a copy.
 *
 * Inside an IT block a breakpoint is conditional, as is every instruction there. Normally there are
 * none: no function starts inside a block, and a call is the last instruction of its block. But the
 * IT instruction itself may have a breakpoint and, in unusual programs, so may the instructions of
 * its block. A copy of one of these runs as the last instruction of its block, so that the
 * breakpoint after it is outside the block.
 *
 * Sources: Procedure Call Standard for the Arm Architecture, 6.1 and 6.5; arch/arm/kernel/ptrace.c
 * for the breakpoint instructions.
 */
#include <elf.h>
#include <string.h>

#include "arch/arm_code.h"
#include "arch/arm_instruction.h"
#include "arch/arm_thumb.h"
#include "arch/unwind_row.h"

#define ARGUMENTS   4
#define CALL_NUMBER 7 /* the register */
#define FRAME       11
#define FRAME_THUMB 7
#define TRAP_KERNEL 1      /* TRAP_BRKPT */
#define WIDE_HALF   0xe800 /* halfwords from here on start a 32-bit instruction */
#define LAST_OF_IT  8

static const uint8_t trap_code[] = {0xf0, 0x01, 0xf0, 0xe7};
static const uint8_t trap_thumb[] = {0x01, 0xde};

static void load(struct arch_registers *registers, const void *set)
{
	memcpy(&registers->arm, set, sizeof(registers->arm));
}

static void store(const struct arch_registers *registers, void *set)
{
	memcpy(set, &registers->arm, sizeof(registers->arm));
}

static bool is_32bit(const struct arch_registers *registers)
{
	(void)registers;
	return true;
}

static int mode_of(const struct arch_registers *registers)
{
	return !!(registers->arm.cpsr & ARM_THUMB);
}

static uint64_t get(const struct arch_registers *registers, enum arch_value value)
{
	static const uint8_t numbers[] = {
		[ARCH_IP] = ARM_PC,        [ARCH_SP] = ARM_SP,
		[ARCH_BP] = FRAME,         [ARCH_BP_SECOND] = FRAME_THUMB,
		[ARCH_RESULT] = 0,         [ARCH_LINK] = ARM_LR,
		[ARCH_CALL] = CALL_NUMBER,
	};

	return value == ARCH_CALL_FIRST ? registers->arm.orig_r0 : registers->arm.r[numbers[value]];
}

static void set_ip(struct arch_registers *registers, uint64_t ip)
{
	registers->arm.r[ARM_PC] = (uint32_t)ip;
}

static struct arm_instruction instruction_of(struct arch_registers *registers, const uint8_t *code,
					     const struct arch_memory *memory)
{
	struct arm_instruction in = {
		.registers = &registers->arm,
		.memory = memory,
		.size = 4,
		.thumb = mode_of(registers),
	};
	uint32_t first = code[0] | (uint32_t)code[1] << 8;
	uint32_t second = code[2] | (uint32_t)code[3] << 8;

	in.word = first | second << 16;
	if (in.thumb && first < WIDE_HALF) {
		in.size = 2;
		in.word = first;
	} else if (in.thumb) {
		in.word = first << 16 | second;
	}
	return in;
}

static uint64_t argument(const struct arch_registers *registers, const struct arch_memory *memory,
			 unsigned int position)
{
	const struct arm_instruction in = {.memory = memory};
	uint32_t word = 0;

	if (position < ARGUMENTS)
		return registers->arm.r[position];
	if (arm_load(&in, registers->arm.r[ARM_SP] + 4 * (position - ARGUMENTS), &word))
		return 0;
	return word;
}

static struct arch_forks forks(const struct arch_registers *registers)
{
	(void)registers;
	return (struct arch_forks){.clone = 120, .vfork = 190, .clone3 = 435};
}

static const struct unwind_abi *abi(bool is_32bit)
{
	(void)is_32bit;
	return &unwind_abi_arm;
}

static size_t breakpoint(int mode, uint8_t ret_bytes[ARCH_BREAKPOINT_MAX])
{
	const uint8_t *bytes = mode ? trap_thumb : trap_code;
	size_t size = mode ? sizeof(trap_thumb) : sizeof(trap_code);

	memcpy(ret_bytes, bytes, size);
	return size;
}

/* In ARM code, with any condition; in Thumb code, also the 32-bit form. */
static bool traps(const uint8_t code[ARCH_CODE_MAX], int mode)
{
	static const uint8_t trap_wide[] = {0xf0, 0xf7, 0x00, 0xa0};

	if (mode)
		return !memcmp(code, trap_thumb, sizeof(trap_thumb)) ||
		       !memcmp(code, trap_wide, sizeof(trap_wide));
	return !memcmp(code, trap_code, 3) && (code[3] & 0xf) == (trap_code[3] & 0xf);
}

/* trap_distance is 0: any thread may be there. */
static bool may_be_behind(const uint8_t code[ARCH_CODE_MAX])
{
	(void)code;
	return true;
}

static enum arch_step step(struct arch_registers *registers, const uint8_t *code,
			   const struct arch_memory *memory, bool asks)
{
	struct arm_instruction in = instruction_of(registers, code, memory);
	const struct arm_registers before = registers->arm;
	enum arch_step step = in.thumb ? arm_thumb_emulate(&in, asks) : arm_code_emulate(&in, asks);

	if (step)
		registers->arm = before;
	return step;
}

static enum arch_step emulate(struct arch_registers *registers, const uint8_t code[ARCH_CODE_MAX],
			      const struct arch_memory *memory)
{
	return step(registers, code, memory, false);
}

static bool can_step(const uint8_t code[ARCH_CODE_MAX], int mode)
{
	struct arch_registers registers = {.arch = &arch_arm};

	registers.arm.cpsr = mode ? ARM_THUMB : 0;
	return step(&registers, code, &arch_memory_of_zeros, true) != ARCH_REFUSED;
}

/* Emulates the instruction to find its target. */
static size_t look(const uint8_t code[ARCH_CODE_MAX], int mode, uint64_t address,
		   uint64_t *ret_target)
{
	struct arch_registers registers = {.arch = &arch_arm};
	size_t size;

	registers.arm.cpsr = mode ? ARM_THUMB : 0;
	registers.arm.r[ARM_PC] = (uint32_t)address;
	size = instruction_of(&registers, code, &arch_memory_of_zeros).size;
	*ret_target = 0;
	if (!step(&registers, code, &arch_memory_of_zeros, true) &&
	    registers.arm.r[ARM_PC] != address + size)
		*ret_target = registers.arm.r[ARM_PC] | (uint32_t)mode_of(&registers);
	if (*ret_target <= 1)
		*ret_target = 0; /* target from a register */
	return size;
}

/* The start of the word: fits both instruction sets. */
static uint64_t slot_at(uint64_t pointer)
{
	return pointer & ~(uint64_t)3;
}

static void copy_begin(struct arch_copy *copy, struct arch_registers *registers,
		       const uint8_t code[ARCH_CODE_MAX], uint64_t slot)
{
	const struct arm_instruction in = instruction_of(registers, code, NULL);
	uint32_t it = in.thumb ? arm_it_get(registers->arm.cpsr) : 0;
	uint8_t trap[ARCH_BREAKPOINT_MAX];
	size_t size = breakpoint(in.thumb, trap);

	*copy = (struct arch_copy){.ip = registers->arm.r[ARM_PC],
				   .slot = slot,
				   .size = in.size,
				   .scratch = -1,
				   .saved_value = it};
	memcpy(copy->code, code, ARCH_CODE_MAX);
	memcpy(copy->code + in.size, trap, size);
	if (it)
		registers->arm.cpsr = arm_it_set(registers->arm.cpsr, (it & 0xf0) | LAST_OF_IT);
	registers->arm.r[ARM_PC] = (uint32_t)slot;
}

static void copy_end(const struct arch_copy *copy, struct arch_registers *registers)
{
	struct arm_registers *arm = &registers->arm;
	uint32_t it = (uint32_t)copy->saved_value;

	if (it) /* still at the copy: it did not run, so the state stays */
		arm->cpsr =
			arm_it_set(arm->cpsr, arm->r[ARM_PC] == copy->slot ? it : arm_it_next(it));
	arm->r[ARM_PC] += (uint32_t)(copy->ip - copy->slot);
}

const struct arch arch_arm = {
	.name = "arm",
	.machine = EM_ARM,
	.look = look,
	.set_size = sizeof(struct arm_registers),
	.mode_bits = 1,
	.trap_code = TRAP_KERNEL,
	.links = true,
	.ip_place = offsetof(struct arm_registers, r[ARM_PC]),
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
