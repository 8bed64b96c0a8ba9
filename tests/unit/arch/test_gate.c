/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Displaced instructions: where a gate is possible, and copies of random code that run elsewhere
 * with the same effect as the originals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <elf.h>

#include "arch/gate.h"

#ifdef __x86_64__

static const struct arch_gate *gate_of_x86(void)
{
	return arch_gate(EM_X86_64, false);
}

#define ADDRESS 0x10000ULL

struct row {
	const char *name;
	const char *code;
	size_t size;
	enum gate_refusal refusal;
	uint8_t skipped;   /* by the site */
	uint8_t displaced; /* bytes */
};

#define POSSIBLE(name, bytes, skipped, displaced)                                 \
	{                                                                         \
		name, bytes, sizeof(bytes) - 1, GATE_POSSIBLE, skipped, displaced \
	}
#define REFUSED(name, bytes, refusal)                         \
	{                                                     \
		name, bytes, sizeof(bytes) - 1, refusal, 0, 0 \
	}

#define ENDBR64 "\xf3\x0f\x1e\xfa"
#define RET     "\xc3"
#define NOP     "\x90"

static const struct row rows[] = {
	POSSIBLE("pushes", "\x41\x57\x41\x56\x41\x55" RET, 0, 6),
	POSSIBLE("behind endbr64", ENDBR64 "\x48\x85\xff\x74\x10\x41\x54" RET, 4, 5),
	POSSIBLE("test, je", "\x48\x85\xff\x74\x10\x41\x54" RET, 0, 5),
	POSSIBLE("a relative operand", "\x80\x3d\x00\x00\x00\x00\x00" RET, 0, 7),
	POSSIBLE("a thunk", "\xe9\x00\x01\x00\x00", 0, 5),
	POSSIBLE("a thunk through a pointer", "\xff\x25\x00\x01\x00\x00", 0, 6),
	POSSIBLE("the longest", NOP NOP NOP NOP "\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00" RET,
		 0, 15),
	POSSIBLE("a loop to its entry", "\x41\x57\x41\x56\x53\xeb\xf9", 0, 5),
	POSSIBLE("a loop to what follows", "\x41\x57\x41\x56\x53\xeb\xfe", 0, 5),
	REFUSED("empty", "", GATE_SHORT),
	REFUSED("only a mark", ENDBR64, GATE_SHORT),
	REFUSED("returns at once", "\x31\xc0" RET NOP NOP NOP, GATE_SHORT),
	REFUSED("a short thunk", "\xeb\x40" NOP NOP NOP, GATE_SHORT),
	REFUSED("cut", "\x48\x85", GATE_UNDECODED),
	REFUSED("no instruction", "\x06\x06\x06\x06\x06", GATE_UNDECODED),
	REFUSED("no instruction later", "\x41\x57\x41\x56\x53\x06", GATE_UNDECODED),
	REFUSED("a call", "\x53\xe8\x00\x00\x00\x00" RET, GATE_BOUND),
	REFUSED("an indirect call", "\xff\xd0\x53\x53\x53" RET, GATE_BOUND),
	REFUSED("a system call", "\x0f\x05\x53\x53\x53" RET, GATE_BOUND),
	REFUSED("jrcxz", "\xe3\x10\x53\x53\x53" RET, GATE_BOUND),
	REFUSED("loop", "\xe2\x10\x53\x53\x53" RET, GATE_BOUND),
	REFUSED("xbegin", "\xc7\xf8\x00\x00\x00\x00" RET, GATE_BOUND),
	REFUSED("an address of 32 bits", "\x67\x8b\x05\x00\x00\x00\x00" RET, GATE_BOUND),
	REFUSED("a breakpoint", "\xcc\x53\x53\x53\x53" RET, GATE_OCCUPIED),
	REFUSED("a later breakpoint", "\x53\xcc\x53\x53\x53" RET, GATE_OCCUPIED),
	REFUSED("a loop into it", "\x53\x41\x57\x41\x56\xeb\xfa", GATE_ENTERED),
	REFUSED("a branch into it", "\x53\x41\x57\x41\x56\x0f\x84\xf8\xff\xff\xff", GATE_ENTERED),
	REFUSED("a call into it", "\x53\x41\x57\x41\x56\xe8\xf9\xff\xff\xff", GATE_ENTERED),
	REFUSED("into it from within", "\x53\x74\x00\x41\x57" RET, GATE_ENTERED),
};

static void test_sites(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct gate_code code = {(const uint8_t *)row->code, row->size, ADDRESS};
		struct gate_site site = {0};
		enum gate_refusal refusal = gate_of_x86()->find(&code, &site);

		if (refusal != row->refusal)
			fail_msg("%s: %d", row->name, refusal);
		if (refusal)
			continue;
		assert_int_equal(site.address, ADDRESS + row->skipped);
		assert_int_equal(site.size, row->displaced);
	}
}

static void test_other_machines(void **state)
{
	(void)state;
	assert_null(arch_gate(EM_X86_64, true));
	assert_null(arch_gate(EM_386, true));
	assert_null(arch_gate(EM_AARCH64, false));
}

/* A branch from elsewhere, at any byte, into each byte of the site. */
static void test_branches_from_elsewhere(void **state)
{
	const struct gate_site site = {.address = ADDRESS, .size = 7};
	uint8_t text[32];

	(void)state;
	for (int target = -1; target <= 8; target++)
		for (uint8_t at = 2; at < sizeof(text) - 4; at++) {
			struct gate_code code = {text, sizeof(text), ADDRESS + 0x1000};
			int32_t distance = target - 0x1000 - at - 4;
			bool inside = target > 0 && target < 7;

			memset(text, 0x90, sizeof(text));
			memcpy(text + at, &distance, sizeof(distance));
			assert_false(gate_of_x86()->is_entered(&code, &site));
			text[at - 1] = at % 2 ? 0xe8 : 0xe9;
			assert_int_equal(gate_of_x86()->is_entered(&code, &site), inside);
			text[at - 1] = 0x80 + at % 16;
			text[at - 2] = 0x0f;
			assert_int_equal(gate_of_x86()->is_entered(&code, &site), inside);
		}
}

/* What is out of reach is refused, and the last reachable byte is not. */
static void test_reach(void **state)
{
	static const uint8_t branch[] = {0x48, 0x85, 0xff, 0x74, 0x10};
	static const uint8_t operand[] = {0x80, 0x3d, 0, 0, 0, 0, 0};
	struct gate_code one = {branch, sizeof(branch), ADDRESS};
	struct gate_code two = {operand, sizeof(operand), ADDRESS};
	uint8_t copy[GATE_COPY_MAX], jump[GATE_JUMP_MAX];
	size_t size;

	(void)state;
	assert_int_equal(gate_of_x86()->copy(&one, ADDRESS + 0x7fffff00, copy, &size),
			 GATE_POSSIBLE);
	assert_int_equal(gate_of_x86()->copy(&one, ADDRESS + 0x80000100, copy, &size), GATE_FAR);
	assert_int_equal(gate_of_x86()->copy(&two, ADDRESS + 0x7fffff00, copy, &size),
			 GATE_POSSIBLE);
	assert_int_equal(gate_of_x86()->copy(&two, ADDRESS + 0x80000100, copy, &size), GATE_FAR);
	assert_true(gate_of_x86()->jump(ADDRESS, ADDRESS + 5 + 0x7fffffff, jump));
	assert_false(gate_of_x86()->jump(ADDRESS, ADDRESS + 5 + 0x80000000, jump));
	assert_true(gate_of_x86()->jump(0x80000000 - 5, 0, jump));
	assert_false(gate_of_x86()->jump(0x80000000 - 4, 0, jump));
}

/* ---- random functions ---- */

#define PAGE      4096
#define FUNCTIONS 20000
#define BODY_MAX  84 /* bytes; a short branch at the start reaches all blocks behind it */
#define BLOCKS    3
#define BLOCK     18 /* bytes */
#define END       (BODY_MAX + BLOCKS * BLOCK)

/* The data page. The end of each block loads the stack pointer and stores its number. */
struct data {
	uint64_t entry_sp;
	uint32_t block;
	uint32_t pad;
	uint8_t bytes[256];
};

struct registers {
	uint64_t values[16]; /* in the order of their numbers; 4, the stack pointer, is not set */
	uint64_t flags;
};

uint64_t *gate_test_registers;
struct data *gate_test_data;
void *gate_test_code;
uint64_t gate_test_ax, gate_test_flags;

/* Calls gate_test_code with all registers loaded, and stores them afterwards. */
void gate_test_call(void);
__asm__(".text\n"
	"gate_test_call:\n"
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"lea -8(%rsp), %rcx\n"
	"mov gate_test_data(%rip), %rax\n"
	"mov %rcx, (%rax)\n"
	"mov gate_test_registers(%rip), %rax\n"
	"push 128(%rax); popf\n"
	"mov 8(%rax), %rcx; mov 16(%rax), %rdx; mov 24(%rax), %rbx\n"
	"mov 40(%rax), %rbp; mov 48(%rax), %rsi; mov 56(%rax), %rdi\n"
	"mov 64(%rax), %r8; mov 72(%rax), %r9; mov 80(%rax), %r10; mov 88(%rax), %r11\n"
	"mov 96(%rax), %r12; mov 104(%rax), %r13; mov 112(%rax), %r14; mov 120(%rax), %r15\n"
	"mov (%rax), %rax\n"
	"call *gate_test_code(%rip)\n"
	"mov %rax, gate_test_ax(%rip)\n"
	"pushf; pop gate_test_flags(%rip)\n"
	"mov gate_test_registers(%rip), %rax\n"
	"mov %rcx, 8(%rax); mov %rdx, 16(%rax); mov %rbx, 24(%rax)\n"
	"mov %rbp, 40(%rax); mov %rsi, 48(%rax); mov %rdi, 56(%rax)\n"
	"mov %r8, 64(%rax); mov %r9, 72(%rax); mov %r10, 80(%rax); mov %r11, 88(%rax)\n"
	"mov %r12, 96(%rax); mov %r13, 104(%rax); mov %r14, 112(%rax); mov %r15, 120(%rax)\n"
	"mov gate_test_ax(%rip), %rcx; mov %rcx, (%rax)\n"
	"mov gate_test_flags(%rip), %rcx; mov %rcx, 128(%rax)\n"
	"cld\n"
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"ret\n");

static uint64_t random_state = 88172645463325252ULL;

/* xorshift64 (Marsaglia 2003) */
static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 20) % below;
}

/* Two pages of code, and one of data. */
struct place {
	uint8_t *code, *copy;
	struct data *data;
	size_t size; /* of the code so far */
};

static void put(struct place *place, const char *bytes, size_t size)
{
	memcpy(place->code + place->size, bytes, size);
	place->size += size;
}

static void put_byte(struct place *place, unsigned int byte)
{
	place->code[place->size++] = (uint8_t)byte;
}

/* A distance to `target` from the instruction that ends `behind` bytes after the distance. */
static void put_distance(struct place *place, const void *target, int behind)
{
	int32_t distance =
		(int32_t)((const uint8_t *)target - (place->code + place->size) - 4) - behind;

	put(place, (const char *)&distance, sizeof(distance));
}

static const uint8_t *some_data(const struct place *place)
{
	return place->data->bytes + draw(sizeof(place->data->bytes) - 16);
}

static const uint8_t *some_block(const struct place *place)
{
	return place->code + BODY_MAX + draw(BLOCKS) * BLOCK;
}

/* Any register but the stack pointer; from 8 on with a bit of REX. */
static unsigned int any_register(void)
{
	unsigned int number = draw(15);

	return number < 4 ? number : number + 1;
}

/* REX.W, an opcode, and two registers. */
static void put_registers(struct place *place, unsigned int opcode)
{
	unsigned int reg = any_register(), rm = any_register();

	put_byte(place, 0x48 | (reg >= 8 ? 4 : 0) | (rm >= 8 ? 1 : 0));
	put_byte(place, opcode);
	put_byte(place, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* REX.W, an opcode, a register, and a place in the data. */
static void put_operand(struct place *place, unsigned int opcode, int behind)
{
	unsigned int reg = any_register();

	put_byte(place, 0x48 | (reg >= 8 ? 4 : 0));
	put_byte(place, opcode);
	put_byte(place, (reg & 7) << 3 | 5);
	put_distance(place, some_data(place), behind);
}

static void put_push_pop(struct place *place)
{
	put_byte(place, 0x41);
	put_byte(place, 0x50 + draw(8));
	if (draw(2)) {
		put_byte(place, 0x41);
		put_byte(place, 0x58 + draw(8));
	}
}

static void put_short_branch(struct place *place)
{
	put_byte(place, 0x70 + draw(16));
	put_byte(place, (unsigned int)(some_block(place) - (place->code + place->size + 1)));
}

static void put_long_branch(struct place *place)
{
	put_byte(place, 0x0f);
	put_byte(place, 0x80 + draw(16));
	put_distance(place, some_block(place), 0);
}

static void put_jump(struct place *place)
{
	bool is_short = draw(2);

	put_byte(place, is_short ? 0xeb : 0xe9);
	if (is_short)
		put_byte(place,
			 (unsigned int)(some_block(place) - (place->code + place->size + 1)));
	else
		put_distance(place, some_block(place), 0);
}

static void put_vector(struct place *place)
{
	put(place, "\x0f\x10\x05", 3); /* movups x(%rip),%xmm0 */
	put_distance(place, some_data(place), 0);
	put(place, "\x66\x0f\xfe\x05", 4); /* paddd: aligned */
	put_distance(place, place->data->bytes + 16 * draw(8), 0);
	put(place, "\x0f\x11\x05", 3);
	put_distance(place, some_data(place), 0);
}

static void put_immediate(struct place *place)
{
	put_byte(place, 0x83);
	put_byte(place, draw(8) << 3 | 5); /* add, or, … cmp: $n,x(%rip) */
	put_distance(place, some_data(place), 1);
	put_byte(place, draw(256));
}

static void put_instruction(struct place *place)
{
	static const unsigned int of_registers[] = {0x01, 0x09, 0x11, 0x21, 0x29,
						    0x31, 0x39, 0x85, 0x87, 0x89};
	static const unsigned int of_operands[] = {0x03, 0x0b, 0x23, 0x2b, 0x33, 0x3b,
						   0x85, 0x87, 0x89, 0x8b, 0x8d};

	switch (draw(12)) {
	case 0:
	case 1:
		put_push_pop(place);
		break;
	case 2:
	case 3:
		put_registers(place, of_registers[draw(10)]);
		break;
	case 4:
	case 5:
		put_operand(place, of_operands[draw(11)], 0);
		break;
	case 6:
		put_immediate(place);
		break;
	case 7:
		put_short_branch(place);
		break;
	case 8:
		put_long_branch(place);
		break;
	case 9:
		put(place, "\x64\x48\x8b\x04\x25\x28\x00\x00\x00", 9); /* mov %fs:0x28,%rax */
		break;
	case 10:
		put(place, "\x66\x0f\x1f\x44\x00\x00", 6);
		break;
	default:
		if (draw(4))
			put_vector(place);
		else
			put_jump(place);
	}
}

static void put_blocks(struct place *place)
{
	for (uint32_t i = 0; i < BLOCKS; i++) {
		place->size = BODY_MAX + i * BLOCK;
		put(place, "\xc7\x05", 2); /* movl $i,block(%rip) */
		put_distance(place, &place->data->block, 4);
		put(place, (const char *)&i, sizeof(i));
		put(place, "\x48\x8b\x25", 3); /* mov entry_sp(%rip),%rsp */
		put_distance(place, &place->data->entry_sp, 0);
		put_byte(place, 0xc3);
	}
}

static void make_function(struct place *place)
{
	memset(place->code, 0x90, END);
	place->size = 0;
	if (draw(4) == 0)
		put(place, ENDBR64, 4);
	for (int i = 0; i < 3; i++)
		put_instruction(place);
	put_blocks(place); /* behind the body, nops lead to the first one */
}

struct result {
	struct registers registers;
	struct data data;
};

static struct result result_of(const struct place *place, void *code, const struct result *before)
{
	struct result result = *before;

	*place->data = before->data;
	gate_test_registers = result.registers.values;
	gate_test_data = place->data;
	gate_test_code = code;
	gate_test_call();
	result.data = *place->data;
	return result;
}

static void make_state(struct result *state)
{
	for (size_t i = 0; i < 16; i++)
		state->registers.values[i] = (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX);
	state->registers.flags = 0x202 | (draw(0x1000) & 0x8d5);
	for (size_t i = 0; i < sizeof(state->data.bytes); i++)
		state->data.bytes[i] = (uint8_t)draw(256);
}

static void protect(const struct place *place, int protection)
{
	assert_int_equal(mprotect(place->code, 2 * PAGE, protection), 0);
}

/* Returns whether a gate was possible. */
static bool run_function(struct place *place)
{
	struct gate_code function = {place->code, END, (uintptr_t)place->code}, displaced;
	struct result before = {0}, original, copied;
	uint8_t *to = place->copy + draw(PAGE - GATE_COPY_MAX);
	struct gate_site site;
	size_t size;

	protect(place, PROT_READ | PROT_WRITE);
	make_function(place);
	make_state(&before);
	if (gate_of_x86()->find(&function, &site) != GATE_POSSIBLE)
		return false;
	displaced = (struct gate_code){(const uint8_t *)site.address, site.size, site.address};
	assert_int_equal(gate_of_x86()->copy(&displaced, (uintptr_t)to, to, &size), GATE_POSSIBLE);
	assert_in_range(size, site.size, GATE_COPY_MAX);
	protect(place, PROT_READ | PROT_EXEC);
	original = result_of(place, place->code, &before);
	copied = result_of(place, to, &before);
	assert_memory_equal(&original, &copied, sizeof(original));
	return true;
}

static void test_copies_have_the_same_effect(void **state)
{
	uint8_t *pages =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct place place = {pages, pages + PAGE, (struct data *)(pages + 2 * PAGE), 0};
	unsigned int possible = 0;

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	for (unsigned int i = 0; i < FUNCTIONS; i++)
		possible += run_function(&place);
	assert_in_range(possible, FUNCTIONS / 10 * 9, FUNCTIONS);
	munmap(pages, 3 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites),
		cmocka_unit_test(test_other_machines),
		cmocka_unit_test(test_branches_from_elsewhere),
		cmocka_unit_test(test_reach),
		cmocka_unit_test(test_copies_have_the_same_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0; /* no gates here */
}

#endif
