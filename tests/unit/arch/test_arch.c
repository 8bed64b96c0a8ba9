// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processors other than x86 (test_x86.c): which instructions a breakpoint may replace and how they
 * are stepped; copies; calls. tests/step checks that emulation is correct.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"

#define PLACE 0x10000u
#define SLOT  0x40000u
#define STACK 0x80000u

/* As in an assembler listing: Thumb in halfwords, PowerPC in byte order, others as words. */
struct row {
	const struct arch *arch;
	int mode;
	uint32_t word;
	const char *text;
	enum arch_step step; /* with all registers zero */
};

#define ARM(word, text, step)                  \
	{                                      \
		&arch_arm, 0, word, text, step \
	}
#define THUMB(word, text, step)                \
	{                                      \
		&arch_arm, 1, word, text, step \
	}
#define ARM64(word, text, step)                  \
	{                                        \
		&arch_arm64, 0, word, text, step \
	}
#define POWERPC(word, text, step)                  \
	{                                          \
		&arch_powerpc, 0, word, text, step \
	}

static const struct row rows[] = {
	ARM(0xe92d4010, "push {r4, lr}", ARCH_DONE),
	ARM(0xe52de004, "str lr, [sp, #-4]!", ARCH_DONE),
	ARM(0xe590f008, "ldr pc, [r0, #8]", ARCH_DONE),
	ARM(0xe3500000, "cmp r0, #0", ARCH_DONE),
	ARM(0xe8bd8010, "pop {r4, pc}", ARCH_DONE),
	ARM(0xeb00003e, "bl", ARCH_DONE),
	ARM(0xfa00003f, "blx", ARCH_DONE),
	ARM(0x0a000000, "beq", ARCH_DONE),
	ARM(0xe320f000, "nop", ARCH_DONE),
	ARM(0xf5d0f000, "pld [r0]", ARCH_DONE),
	ARM(0xe08f0211, "add r0, pc, r1, lsl r2", ARCH_REFUSED),
	ARM(0xe1910f9f, "ldrex r0, [r1]", ARCH_REFUSED),
	ARM(0xe1020091, "swp r0, r1, [r2]", ARCH_REFUSED),
	ARM(0xef000000, "svc #0", ARCH_REFUSED),
	ARM(0xed9f0b02, "vldr d0, [pc, #8]", ARCH_REFUSED),
	ARM(0xe1cf00d4, "ldrd r0, [pc, #4]", ARCH_REFUSED),
	ARM(0xe8808002, "stm r0, {r1, pc}", ARCH_REFUSED),
	ARM(0xe7f001f0, "udf #16", ARCH_REFUSED),
	ARM(0xe1200070, "bkpt", ARCH_REFUSED),
	ARM(0xed2d8b02, "vpush {d8}", ARCH_OUT_OF_LINE),
	ARM(0xe16d41f0, "strd r4, [sp, #-16]!", ARCH_OUT_OF_LINE),
	ARM(0xe0000291, "mul r0, r1, r2", ARCH_OUT_OF_LINE),
	ARM(0xe16f0f11, "clz r0, r1", ARCH_OUT_OF_LINE),
	ARM(0xe10f0000, "mrs r0, cpsr", ARCH_OUT_OF_LINE),
	ARM(0xf57ff05b, "dmb ish", ARCH_OUT_OF_LINE),

	THUMB(0xb590, "push {r4, r7, lr}", ARCH_DONE),
	THUMB(0xe92d43f0, "stmdb sp!, {r4-r9, lr}", ARCH_DONE),
	THUMB(0xbf08, "it eq", ARCH_DONE),
	THUMB(0x4770, "bx lr", ARCH_DONE),
	THUMB(0xb110, "cbz r0", ARCH_DONE),
	THUMB(0x4801, "ldr r0, [pc, #4]", ARCH_DONE),
	THUMB(0xf000f87e, "bl", ARCH_DONE),
	THUMB(0xf000e880, "blx", ARCH_DONE),
	THUMB(0xf000b8fe, "b.w", ARCH_DONE),
	THUMB(0xf00080fe, "beq.w", ARCH_DONE),
	THUMB(0xf85dfb04, "ldr.w pc, [sp], #4", ARCH_DONE),
	THUMB(0xf20f000e, "addw r0, pc, #14", ARCH_DONE),
	THUMB(0xf2412034, "movw r0, #4660", ARCH_DONE),
	THUMB(0xf2c56078, "movt r0, #22136", ARCH_DONE),
	THUMB(0xf3af8000, "nop.w", ARCH_DONE),
	THUMB(0xe8510f00, "ldrex r0, [r1]", ARCH_REFUSED),
	THUMB(0xe8dff000, "tbb [pc, r0]", ARCH_REFUSED),
	THUMB(0xdf00, "svc 0", ARCH_REFUSED),
	THUMB(0xde01, "udf #1", ARCH_REFUSED),
	THUMB(0xbe00, "bkpt", ARCH_REFUSED),
	THUMB(0xed9f0b02, "vldr d0, [pc, #8]", ARCH_REFUSED),
	THUMB(0xf3af8110, "cps #16", ARCH_REFUSED),
	THUMB(0xf8bf0004, "ldrh.w r0, [pc, #4]", ARCH_REFUSED),
	THUMB(0xe96d4504, "strd r4, r5, [sp, #-16]!", ARCH_OUT_OF_LINE),
	THUMB(0x0088, "lsls r0, r1, #2", ARCH_OUT_OF_LINE),
	THUMB(0xf3ef8000, "mrs r0, cpsr", ARCH_OUT_OF_LINE),
	THUMB(0xfb01f002, "mul.w r0, r1, r2", ARCH_OUT_OF_LINE),

	ARM64(0xa9be7bfd, "stp x29, x30, [sp, #-32]!", ARCH_DONE),
	ARM64(0xa8c27bfd, "ldp x29, x30, [sp], #32", ARCH_DONE),
	ARM64(0xd10103ff, "sub sp, sp, #64", ARCH_DONE),
	ARM64(0x910003fd, "mov x29, sp", ARCH_DONE),
	ARM64(0x90000000, "adrp x0", ARCH_DONE),
	ARM64(0x10000040, "adr x0", ARCH_DONE),
	ARM64(0x94000040, "bl", ARCH_DONE),
	ARM64(0xd65f03c0, "ret", ARCH_DONE),
	ARM64(0xd61f0200, "br x16", ARCH_DONE),
	ARM64(0xb4000040, "cbz x0", ARCH_DONE),
	ARM64(0x58000080, "ldr x0, literal", ARCH_DONE),
	ARM64(0xd503245f, "bti c", ARCH_DONE),
	ARM64(0xd503201f, "nop", ARCH_DONE),
	ARM64(0x5c000080, "ldr d0, literal", ARCH_REFUSED),
	ARM64(0xc85f7c20, "ldxr x0, [x1]", ARCH_REFUSED),
	ARM64(0xd65f0bff, "retaa", ARCH_REFUSED),
	ARM64(0xd63f081f, "blraaz x0", ARCH_REFUSED),
	ARM64(0xd4000001, "svc #0", ARCH_REFUSED),
	ARM64(0xd4200000, "brk #0", ARCH_REFUSED),
	ARM64(0x00000000, "udf #0", ARCH_REFUSED),
	ARM64(0xd503233f, "paciasp", ARCH_OUT_OF_LINE),
	ARM64(0xc8dffc20, "ldar x0, [x1]", ARCH_OUT_OF_LINE),
	ARM64(0xd53bd040, "mrs x0, tpidr_el0", ARCH_OUT_OF_LINE),
	ARM64(0xf8626820, "ldr x0, [x1, x2]", ARCH_OUT_OF_LINE),
	ARM64(0x3c9f0fe0, "str q0, [sp, #-16]!", ARCH_OUT_OF_LINE),
	ARM64(0x9b027c20, "mul x0, x1, x2", ARCH_OUT_OF_LINE),

	POWERPC(0x9421ffe0, "stwu r1, -32(r1)", ARCH_DONE),
	POWERPC(0x7c0802a6, "mflr r0", ARCH_DONE),
	POWERPC(0x7d800026, "mfcr r12", ARCH_DONE),
	POWERPC(0x7c832378, "mr r3, r4", ARCH_DONE),
	POWERPC(0x2c030000, "cmpwi r3, 0", ARCH_DONE),
	POWERPC(0x3d200004, "lis r9, 4", ARCH_DONE),
	POWERPC(0x48000101, "bl", ARCH_DONE),
	POWERPC(0x4e800020, "blr", ARCH_DONE),
	POWERPC(0x41820008, "beq", ARCH_DONE),
	POWERPC(0x4e800420, "bctr", ARCH_DONE),
	POWERPC(0x429f0005, "bcl 20, 31, next", ARCH_DONE),
	POWERPC(0x44000002, "sc", ARCH_REFUSED),
	POWERPC(0x7fe00008, "trap", ARCH_REFUSED),
	POWERPC(0x0fe00000, "twui r0, 0", ARCH_REFUSED),
	POWERPC(0x7c602028, "lwarx r3, 0, r4", ARCH_REFUSED),
	POWERPC(0x7c60212d, "stwcx. r3, 0, r4", ARCH_REFUSED),
	POWERPC(0x7c6429d6, "mullw r3, r4, r5", ARCH_OUT_OF_LINE),
	POWERPC(0x5483103a, "slwi r3, r4, 2", ARCH_OUT_OF_LINE),
	POWERPC(0xc8210008, "lfd f1, 8(r1)", ARCH_OUT_OF_LINE),
};

static void code_of(const struct row *row, uint8_t code[ARCH_CODE_MAX])
{
	uint32_t word = row->word;

	memset(code, 0, ARCH_CODE_MAX);
	if (row->mode && word > 0xffff)
		word = word >> 16 | word << 16;
	for (unsigned int i = 0; i < sizeof(word); i++)
		code[row->arch == &arch_powerpc ? 3 - i : i] = (uint8_t)(word >> 8 * i);
}

#define MEMORY 256 /* bytes around STACK */
static uint8_t memory_bytes[MEMORY];

static int memory_read(void *ctx, uint64_t address, void *bytes, size_t size)
{
	(void)ctx;
	if (address - (STACK - MEMORY / 2) > MEMORY - size)
		return -1;
	memcpy(bytes, memory_bytes + (address - (STACK - MEMORY / 2)), size);
	return 0;
}

static int memory_write(void *ctx, uint64_t address, const void *bytes, size_t size)
{
	(void)ctx;
	if (address - (STACK - MEMORY / 2) > MEMORY - size)
		return -1;
	memcpy(memory_bytes + (address - (STACK - MEMORY / 2)), bytes, size);
	return 0;
}

static const struct arch_memory memory = {.read = memory_read, .write = memory_write};

static struct arch_registers registers_of(const struct arch *arch, int mode)
{
	struct arch_registers registers = {.arch = arch};

	if (arch == &arch_arm && mode)
		registers.arm.cpsr = 0x30;
	arch_set_ip(&registers, PLACE);
	return registers;
}

static void test_how_instructions_are_stepped(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct arch_registers registers = registers_of(row->arch, row->mode);
		uint8_t code[ARCH_CODE_MAX];
		enum arch_step step;

		code_of(row, code);
		step = row->arch->emulate(&registers, code, &arch_memory_of_zeros);
		if (step != row->step)
			fail_msg("%s, %s: %d", row->arch->name, row->text, step);
		if (row->arch->can_step(code, row->mode) != (row->step != ARCH_REFUSED))
			fail_msg("%s, %s: can it be stepped?", row->arch->name, row->text);
		if (step && arch_get(&registers, ARCH_IP) != PLACE)
			fail_msg("%s, %s: registers changed", row->arch->name, row->text);
	}
}

/* An instruction that accesses unmapped memory faults at its own address, with all registers
 * unchanged. */
static void test_fault_leaves_registers_unchanged(void **state)
{
	static const struct row pushes[] = {
		ARM(0xe92d4010, "push {r4, lr}", ARCH_FAULT),
		THUMB(0xb590, "push {r4, r7, lr}", ARCH_FAULT),
		ARM64(0xa9be7bfd, "stp x29, x30, [sp, #-32]!", ARCH_FAULT),
		POWERPC(0x9421ffe0, "stwu r1, -32(r1)", ARCH_FAULT),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pushes) / sizeof(pushes[0]); i++) {
		struct arch_registers registers = registers_of(pushes[i].arch, pushes[i].mode);
		const struct arch_registers before = registers;
		uint8_t code[ARCH_CODE_MAX];

		code_of(&pushes[i], code);
		assert_int_equal(pushes[i].arch->emulate(&registers, code, &memory), ARCH_FAULT);
		assert_memory_equal(&registers, &before, sizeof(before));
	}
}

/* Each breakpoint is recognised, and the reported address is that of the instruction. */
static void test_breakpoints(void **state)
{
	static const struct {
		const struct arch *arch;
		int mode;
		size_t size;
		uint8_t bytes[ARCH_BREAKPOINT_MAX];
	} traps[] = {
		{&arch_x86_64, 0, 1, {0xcc}},
		{&arch_arm, 0, 4, {0xf0, 0x01, 0xf0, 0xe7}},
		{&arch_arm, 1, 2, {0x01, 0xde}},
		{&arch_arm64, 0, 4, {0x00, 0x00, 0x20, 0xd4}},
		{&arch_powerpc, 0, 4, {0x7f, 0xe0, 0x00, 0x08}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(traps) / sizeof(traps[0]); i++) {
		const struct arch *arch = traps[i].arch;
		uint8_t bytes[ARCH_BREAKPOINT_MAX], code[ARCH_CODE_MAX] = {0};

		assert_int_equal(arch->breakpoint(traps[i].mode, bytes), traps[i].size);
		assert_memory_equal(bytes, traps[i].bytes, traps[i].size);
		assert_false(arch->traps(code, traps[i].mode));
		memcpy(code, bytes, traps[i].size);
		assert_true(arch->traps(code, traps[i].mode));
		assert_false(arch->can_step(code, traps[i].mode));
		assert_int_equal(arch->trap_distance, arch == &arch_x86_64);
	}
}

/* A register set is unchanged by load and store, and its size identifies the architecture. */
static void test_register_sets(void **state)
{
	static const struct {
		const struct arch *arch;
		size_t size;
	} sets[] = {{&arch_x86_64, 216},
		    {&arch_i386, 68},
		    {&arch_arm, 72},
		    {&arch_arm64, 272},
		    {&arch_powerpc, 192}};
	uint8_t in[ARCH_SET_MAX], out[ARCH_SET_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)(i * 7);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct arch_registers registers = {.arch = arch_of_set(sets[i].size)};

		assert_ptr_equal(registers.arch, sets[i].arch);
		memset(out, 0, sizeof(out));
		registers.arch->load(&registers, in);
		registers.arch->store(&registers, out);
		assert_memory_equal(in, out, sets[i].size);
	}
	assert_null(arch_of_set(1));
}

static enum arch_step step_thumb(struct arch_registers *registers, uint32_t word)
{
	const struct row row = THUMB(word, "", ARCH_DONE);
	uint8_t code[ARCH_CODE_MAX];

	code_of(&row, code);
	return arch_arm.emulate(registers, code, &memory);
}

/* ite ne; movne r0, #1; moveq r0, #2: instructions whose condition is false are skipped, and the
 * flags are kept. */
static void test_it_block(void **state)
{
	(void)state;
	for (uint32_t zero = 0; zero < 2; zero++) {
		struct arch_registers registers = registers_of(&arch_arm, 1);
		uint32_t cpsr = 0x30 | zero << 30;

		registers.arm.cpsr = cpsr;
		assert_int_equal(step_thumb(&registers, 0xbf14), ARCH_DONE);
		assert_int_not_equal(registers.arm.cpsr, cpsr);
		assert_int_equal(step_thumb(&registers, 0x2001), ARCH_DONE);
		assert_int_equal(step_thumb(&registers, 0x2002), ARCH_DONE);
		assert_int_equal(registers.arm.r[0], 1 + zero);
		assert_int_equal(registers.arm.r[15], PLACE + 6);
		assert_int_equal(registers.arm.cpsr, cpsr);
	}
}

/* A Thumb copy is followed by a breakpoint and is the last of its IT block. Afterwards the block
 * continues. */
static void test_thumb_copy(void **state)
{
	static const uint8_t strd[ARCH_CODE_MAX] = {0x6d, 0xe9, 0x04, 0x45, 0xff};
	struct arch_registers registers = registers_of(&arch_arm, 1);
	struct arch_copy line;

	(void)state;
	assert_int_equal(step_thumb(&registers, 0xbf1c), ARCH_DONE); /* itt ne */
	arch_arm.copy_begin(&line, &registers, strd, SLOT);
	assert_int_equal(line.size, 4);
	assert_memory_equal(line.code, strd, 4);
	assert_memory_equal(line.code + 4, "\x01\xde", 2);
	assert_int_equal(registers.arm.r[15], SLOT);
	assert_int_equal(registers.arm.cpsr >> 25 & 3, 0);
	assert_int_equal(registers.arm.cpsr >> 10 & 0x3f, 0x18 >> 2); /* ne, the last */
	registers.arm.r[15] += 4;
	registers.arm.cpsr &= ~(0x3fu << 10);
	arch_arm.copy_end(&line, &registers);
	assert_int_equal(registers.arm.r[15], PLACE + 2 + 4);
	assert_int_equal(registers.arm.cpsr >> 10 & 0x3f, 0x18 >> 2);
}

/* If the copy was not executed, the registers are as before. */
static void test_copy_not_executed(void **state)
{
	static const struct row mul[] = {
		ARM(0xe0000291, "mul r0, r1, r2", ARCH_OUT_OF_LINE),
		THUMB(0xfb01f002, "mul.w r0, r1, r2", ARCH_OUT_OF_LINE),
		ARM64(0x9b027c20, "mul x0, x1, x2", ARCH_OUT_OF_LINE),
		POWERPC(0x7c6429d6, "mullw r3, r4, r5", ARCH_OUT_OF_LINE),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(mul) / sizeof(mul[0]); i++) {
		const struct arch *arch = mul[i].arch;
		struct arch_registers registers = registers_of(arch, mul[i].mode);
		const struct arch_registers before = registers;
		uint8_t code[ARCH_CODE_MAX];
		struct arch_copy line;

		code_of(&mul[i], code);
		arch->copy_begin(&line, &registers, code, SLOT);
		assert_int_equal(arch_get(&registers, ARCH_IP), SLOT);
		assert_memory_equal(line.code, code, 4);
		assert_int_equal(line.size != 0, !arch->steps);
		arch->copy_end(&line, &registers);
		assert_memory_equal(&registers, &before, sizeof(before));
		arch->copy_begin(&line, &registers, code, SLOT);
		arch_set_ip(&registers, SLOT + 4);
		arch->copy_end(&line, &registers);
		assert_int_equal(arch_get(&registers, ARCH_IP), PLACE + 4);
	}
}

/* After an emulated or copied instruction, the branch type is cleared, so the next one need not be
 * a landing pad. */
static void test_branch_type_is_cleared(void **state)
{
	static const struct row mov = ARM64(0x910003fd, "mov x29, sp", ARCH_DONE);
	struct arch_registers registers = registers_of(&arch_arm64, 0);
	struct arch_copy line;
	uint8_t code[ARCH_CODE_MAX];

	(void)state;
	code_of(&mov, code);
	registers.arm64.pstate = 0x80000c00;
	assert_int_equal(arch_arm64.emulate(&registers, code, &memory), ARCH_DONE);
	assert_int_equal(registers.arm64.pstate, 0x80000000);
	registers.arm64.pstate = 0x80000400;
	arch_arm64.copy_begin(&line, &registers, code, SLOT);
	assert_int_equal(registers.arm64.pstate, 0x80000000);
}

/* A call in Thumb code sets the Thumb bit in the link register. */
static void test_thumb_call_links_to_thumb(void **state)
{
	struct arch_registers registers = registers_of(&arch_arm, 1);

	(void)state;
	assert_int_equal(step_thumb(&registers, 0xf000f87e), ARCH_DONE);
	assert_int_equal(arch_get(&registers, ARCH_LINK), (PLACE + 4) | 1);
	assert_int_equal(arch_get(&registers, ARCH_IP), PLACE + 4 + 0xfc);
	assert_int_equal(arch_code_address(&arch_arm, PLACE | 1), PLACE);
	assert_int_equal(arch_code_mode(&arch_arm, PLACE | 1, true), 1);
	assert_int_equal(arch_code_mode(&arch_arm, PLACE, true), 0);
	assert_int_equal(arch_code_mode(&arch_x86_64, PLACE | 1, true), 1); /* means compat32 */
	assert_int_equal(arch_code_address(&arch_x86_64, PLACE | 1), PLACE | 1);
}

/* Arguments that do not fit into registers are on the stack, in the machine's byte order. */
static void test_arguments(void **state)
{
	struct arch_registers arm = registers_of(&arch_arm, 0);
	struct arch_registers arm64 = registers_of(&arch_arm64, 0);
	struct arch_registers ppc = registers_of(&arch_powerpc, 0);

	(void)state;
	memset(memory_bytes, 0, sizeof(memory_bytes));
	memcpy(memory_bytes + MEMORY / 2, "\x78\x56\x34\x12", 4);
	memcpy(memory_bytes + MEMORY / 2 + 8, "\x12\x34\x56\x78", 4);
	arm.arm.r[3] = 3;
	arm.arm.r[13] = STACK;
	arm64.arm64.x[7] = 7;
	ppc.ppc.r[10] = 10;
	ppc.ppc.r[1] = STACK;
	assert_int_equal(arch_arm.argument(&arm, &memory, 3), 3);
	assert_int_equal(arch_arm.argument(&arm, &memory, 4), 0x12345678);
	assert_int_equal(arch_arm64.argument(&arm64, &memory, 7), 7);
	assert_int_equal(arch_powerpc.argument(&ppc, &memory, 7), 10);
	assert_int_equal(arch_powerpc.argument(&ppc, &memory, 8), 0x12345678);
	arm.arm.r[13] = 0;
	assert_int_equal(arch_arm.argument(&arm, &memory, 4), 0);
}

/* The target of a call that is not executed, with its mode. */
static void test_call_targets(void **state)
{
	static const struct {
		struct row row;
		size_t size;
		uint64_t target;
	} looks[] = {
		{ARM(0xeb00003e, "bl", ARCH_DONE), 4, PLACE + 0x100},
		{ARM(0xfa00003e, "blx", ARCH_DONE), 4, (PLACE + 0x100) | 1},
		{ARM(0x0b00003e, "bleq", ARCH_DONE), 4, PLACE + 0x100},
		{ARM(0xe92d4010, "push {r4, lr}", ARCH_DONE), 4, 0},
		{ARM(0xe12fff1e, "bx lr", ARCH_DONE), 4, 0},
		{THUMB(0xf000f87e, "bl", ARCH_DONE), 4, (PLACE + 0x100) | 1},
		{THUMB(0xf000e87e, "blx", ARCH_DONE), 4, PLACE + 0x100},
		{THUMB(0xb590, "push {r4, r7, lr}", ARCH_DONE), 2, 0},
		{THUMB(0xe8dff000, "tbb [pc, r0]", ARCH_DONE), 4, 0},
		{ARM64(0x94000040, "bl", ARCH_DONE), 4, PLACE + 0x100},
		{ARM64(0xd65f03c0, "ret", ARCH_DONE), 4, 0},
		{POWERPC(0x48000101, "bl", ARCH_DONE), 4, PLACE + 0x100},
		{POWERPC(0x4e800020, "blr", ARCH_DONE), 4, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		const struct row *row = &looks[i].row;
		uint8_t code[ARCH_CODE_MAX];
		uint64_t target;

		code_of(row, code);
		assert_int_equal(row->arch->look(code, row->mode, PLACE, &target), looks[i].size);
		if (target != looks[i].target)
			fail_msg("%s, %s: %#llx", row->arch->name, row->text,
				 (unsigned long long)target);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_instructions_are_stepped),
		cmocka_unit_test(test_fault_leaves_registers_unchanged),
		cmocka_unit_test(test_breakpoints),
		cmocka_unit_test(test_register_sets),
		cmocka_unit_test(test_it_block),
		cmocka_unit_test(test_thumb_copy),
		cmocka_unit_test(test_copy_not_executed),
		cmocka_unit_test(test_branch_type_is_cleared),
		cmocka_unit_test(test_call_targets),
		cmocka_unit_test(test_thumb_call_links_to_thumb),
		cmocka_unit_test(test_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
