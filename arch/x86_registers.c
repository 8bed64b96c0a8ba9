/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers and calls of x86 (System V ABI, AMD64, 3.2.3, and i386, 2.2), and the tables of
 * operations. A 32-bit tracer gets fewer registers, which are widened.
 */
#include <elf.h>
#include <string.h>

#include "arch/unwind_row.h"
#include "arch/x86.h"
#include "arch/x86_copy.h"

#define KERNEL_SIGNAL 0x80

static void load_wide(struct arch_registers *registers, const void *set)
{
	memcpy(&registers->x86, set, sizeof(registers->x86));
}

static void store_wide(const struct arch_registers *registers, void *set)
{
	memcpy(set, &registers->x86, sizeof(registers->x86));
}

/* The 32-bit struct user_regs_struct (sys/user.h). */
#define I386_COUNT 17
#define I386_IP    12

static void i386_places(struct x86_registers *x86, uint64_t *places[I386_COUNT])
{
	uint64_t *const order[I386_COUNT] = {
		&x86->bx, &x86->cx, &x86->dx,    &x86->si, &x86->di, &x86->bp,
		&x86->ax, &x86->ds, &x86->es,    &x86->fs, &x86->gs, &x86->orig_ax,
		&x86->ip, &x86->cs, &x86->flags, &x86->sp, &x86->ss,
	};

	memcpy(places, order, sizeof(order));
}

static void load_i386(struct arch_registers *registers, const void *set)
{
	uint64_t *places[I386_COUNT];
	uint32_t words[I386_COUNT];

	memcpy(words, set, sizeof(words));
	registers->x86 = (struct x86_registers){0};
	i386_places(&registers->x86, places);
	for (int i = 0; i < I386_COUNT; i++)
		*places[i] = words[i];
}

static void store_i386(const struct arch_registers *registers, void *set)
{
	struct x86_registers copy = registers->x86;
	uint64_t *places[I386_COUNT];
	uint32_t words[I386_COUNT];

	i386_places(&copy, places);
	for (int i = 0; i < I386_COUNT; i++)
		words[i] = (uint32_t)*places[i];
	memcpy(set, words, sizeof(words));
}

static bool is_32bit(const struct arch_registers *registers)
{
	return x86_is_narrow(&registers->x86);
}

static int mode_of(const struct arch_registers *registers)
{
	return is_32bit(registers);
}

static uint64_t word_of(const struct arch_registers *registers, uint64_t value)
{
	return is_32bit(registers) ? (uint32_t)value : value;
}

static uint64_t get(const struct arch_registers *registers, enum arch_value value)
{
	const struct x86_registers *x86 = &registers->x86;

	switch (value) {
	case ARCH_IP:
		return x86->ip;
	case ARCH_SP:
		return x86->sp;
	case ARCH_BP:
		return word_of(registers, x86->bp);
	case ARCH_RESULT:
		return word_of(registers, x86->ax);
	case ARCH_CALL:
		return x86->orig_ax;
	case ARCH_CALL_FIRST:
		return is_32bit(registers) ? x86->bx : x86->di;
	case ARCH_BP_SECOND:
	case ARCH_LINK:
		break; /* on the stack */
	}
	return 0;
}

static void set_ip(struct arch_registers *registers, uint64_t ip)
{
	registers->x86.ip = ip;
}

/* Arguments start above the return address. */
static uint64_t stack_argument(const struct x86_registers *x86, const struct arch_memory *memory,
			       unsigned int position)
{
	uint8_t bytes[4] = {0};

	if (memory->read(memory->ctx, x86->sp + (position + 1) * sizeof(bytes), bytes,
			 sizeof(bytes)))
		return 0;
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

static uint64_t argument(const struct arch_registers *registers, const struct arch_memory *memory,
			 unsigned int position)
{
	const struct x86_registers *x86 = &registers->x86;
	const uint64_t words[] = {x86->di, x86->si, x86->dx, x86->cx, x86->r8, x86->r9};

	if (is_32bit(registers))
		return stack_argument(x86, memory, position);
	return position < sizeof(words) / sizeof(words[0]) ? words[position] : 0;
}

static struct arch_forks forks(const struct arch_registers *registers)
{
	return is_32bit(registers) ? (struct arch_forks){.clone = 120, .vfork = 190, .clone3 = 435}
				   : (struct arch_forks){.clone = 56, .vfork = 58, .clone3 = 435};
}

static const struct unwind_abi *abi(bool is_32bit)
{
	return is_32bit ? &unwind_abi_i386 : &unwind_abi_x86_64;
}

static size_t breakpoint(int mode, uint8_t ret_bytes[ARCH_BREAKPOINT_MAX])
{
	(void)mode;
	ret_bytes[0] = X86_BREAKPOINT;
	return 1;
}

static bool traps(const uint8_t code[ARCH_CODE_MAX], int mode)
{
	(void)mode;
	return code[0] == X86_BREAKPOINT;
}

/* Only after a one-byte instruction: ip is then its next instruction. */
static bool may_be_behind(const uint8_t code[ARCH_CODE_MAX])
{
	uint8_t opcode = code[0];

	return opcode >> 4 == 5 || opcode >> 3 == 0x90 >> 3 || opcode == 0xc3 || opcode == 0xc9 ||
	       opcode == 0x98 || opcode == 0x99;
}

static enum arch_step emulate(struct arch_registers *registers, const uint8_t code[ARCH_CODE_MAX],
			      const struct arch_memory *memory)
{
	return x86_emulate(&registers->x86, code, memory);
}

static bool can_step(const uint8_t code[ARCH_CODE_MAX], int mode)
{
	return x86_can_step(code, mode);
}

static uint64_t slot_at(uint64_t pointer)
{
	return pointer;
}

static void copy_begin(struct arch_copy *copy, struct arch_registers *registers,
		       const uint8_t code[ARCH_CODE_MAX], uint64_t slot)
{
	x86_copy_begin(copy, &registers->x86, code, slot);
}

static void copy_end(const struct arch_copy *copy, struct arch_registers *registers)
{
	x86_copy_end(copy, &registers->x86);
}

#define X86_ROW                                                                                    \
	.trap_distance = 1, .trap_code = KERNEL_SIGNAL, .steps = true, .chains = true,             \
	.guesses = true, .is_32bit = is_32bit, .mode_of = mode_of, .slot_at = slot_at, .get = get, \
	.set_ip = set_ip, .argument = argument, .forks = forks, .abi = abi,                        \
	.breakpoint = breakpoint, .traps = traps, .may_be_behind = may_be_behind,                  \
	.emulate = emulate, .can_step = can_step, .copy_begin = copy_begin, .copy_end = copy_end

const struct arch arch_x86_64 = {
	.name = "x86-64",
	.machine = EM_X86_64,
	.set_size = sizeof(struct x86_registers),
	.ip_place = offsetof(struct x86_registers, ip),
	.load = load_wide,
	.store = store_wide,
	X86_ROW,
};

const struct arch arch_i386 = {
	.name = "i386",
	.machine = EM_386,
	.set_size = I386_COUNT * sizeof(uint32_t),
	.ip_place = I386_IP * sizeof(uint32_t),
	.load = load_i386,
	.store = store_i386,
	X86_ROW,
};
