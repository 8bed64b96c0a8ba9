// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The CFI compiler and the unwinder's step against libdw, an independent reader of the same CFI.
 *
 * For a stretch of code libdw tells the rules as DWARF expressions. They are evaluated on invented
 * registers and an invented memory, and one step by the compiled row, on the same registers and
 * memory, must give the same caller: ip, sp and bp. A row may say STOP only where libdw's rules
 * are of a form that rows do not have.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <capstone/capstone.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/unwind.h"
#include "symbol/cfi.h"

#define SAMPLE      50000 /* rows looked at in a file that is too large for all */
#define RANDOM      20000 /* addresses besides */
#define SP_INVENTED 0x10000000
#define BP_INVENTED 0x10001000

/*
 * The invented memory: words differ, and those near the stack lead up the stack.
 */

static uint64_t word_mask(const struct unwind_abi *abi)
{
	return abi->word == 4 ? UINT32_MAX : UINT64_MAX;
}

static uint64_t invented_word(const struct unwind_abi *abi, uint64_t address)
{
	return (address * 5 + 0x12345678) & word_mask(abi);
}

static int unwind_read(void *ctx, abi_u64 address, abi_u64 *ret_word)
{
	*ret_word = invented_word(ctx, address);
	return 0;
}

/*
 * libdw's side.
 */

struct value {
	bool known;    /* else undefined, or from registers that were not invented */
	bool in_place; /* the number is an address at which the value lies */
	uint64_t number;
};

struct machine {
	const struct unwind_abi *abi;
	uint64_t ip, sp, bp, cfa;
	uint64_t stack[16];
	unsigned int depth;
	bool failed;
};

static void push(struct machine *machine, uint64_t number)
{
	assert_true(machine->depth < 16);
	machine->stack[machine->depth++] = number & word_mask(machine->abi);
}

static uint64_t pop(struct machine *machine)
{
	assert_true(machine->depth > 0);
	return machine->stack[--machine->depth];
}

static void push_register(struct machine *machine, uint64_t number, uint64_t offset)
{
	if (number == machine->abi->dwarf_sp)
		push(machine, machine->sp + offset);
	else if (number == machine->abi->dwarf_bp)
		push(machine, machine->bp + offset);
	else if (number == machine->abi->dwarf_ip)
		push(machine, machine->ip + offset);
	else
		machine->failed = true;
}

static void evaluate_binary(struct machine *machine, const Dwarf_Op *op)
{
	uint64_t right = pop(machine), left = pop(machine);

	switch (op->atom) {
	case DW_OP_plus:
		push(machine, left + right);
		break;
	case DW_OP_and:
		push(machine, left & right);
		break;
	case DW_OP_ge:
		push(machine, (int64_t)left >= (int64_t)right);
		break;
	case DW_OP_shl:
		push(machine, left << right);
		break;
	default:
		push(machine, 0);
		machine->failed = true;
	}
}

static void evaluate_operation(struct machine *machine, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		push_register(machine, op->atom - DW_OP_breg0, op->number);
	else if (op->atom == DW_OP_bregx)
		push_register(machine, op->number, op->number2);
	else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		push(machine, op->atom - DW_OP_lit0);
	else if (op->atom == DW_OP_call_frame_cfa)
		push(machine, machine->cfa);
	else if (op->atom == DW_OP_deref)
		push(machine, invented_word(machine->abi, pop(machine)));
	else if (op->atom == DW_OP_plus_uconst)
		push(machine, pop(machine) + op->number);
	else if ((op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) || op->atom == DW_OP_regx)
		machine->failed = true;
	else
		evaluate_binary(machine, op);
}

static struct value evaluate(struct machine *machine, const Dwarf_Op *ops, size_t count)
{
	struct value value = {.in_place = true};

	machine->depth = 0;
	machine->failed = false;
	for (size_t i = 0; i < count && !machine->failed; i++) {
		if (ops[i].atom == DW_OP_stack_value)
			value.in_place = false;
		else
			evaluate_operation(machine, &ops[i]);
	}
	value.known = !machine->failed && machine->depth > 0;
	value.number = value.known ? pop(machine) : 0;
	return value;
}

struct truth {
	bool end; /* the return address is undefined */
	bool signal;
	bool expressible; /* plain rules: no excuse for a STOP */
	struct value cfa, ip, sp, bp;
	uint64_t start, stop; /* virtual addresses for which it holds */
};

/* What a register of the caller is. `same` is its value here. */
static struct value caller_register(struct machine *machine, Dwarf_Frame *frame, int number,
				    uint64_t same, bool *ret_undefined)
{
	struct value value;
	Dwarf_Op memory[3], *ops;
	size_t count;

	*ret_undefined = false;
	if (dwarf_frame_register(frame, number, memory, &ops, &count))
		return (struct value){0};
	*ret_undefined = count == 0 && ops == memory;
	if (count == 0)
		return (struct value){.known = !*ret_undefined, .number = same};
	value = evaluate(machine, ops, count);
	if (value.known && value.in_place)
		value.number = invented_word(machine->abi, value.number);
	return value;
}

static bool is_plain_cfa(const struct unwind_abi *abi, const Dwarf_Op *ops, size_t count)
{
	int64_t offset, limit = (int64_t)INT16_MAX * abi->word;

	if (count != 1)
		return false;
	offset = (int64_t)(ops->atom == DW_OP_bregx ? ops->number2 : ops->number);
	return offset % abi->word == 0 && offset <= limit && offset >= -limit;
}

/* libdw's word on an address; false if it has none. */
static bool find_truth(Dwarf_CFI *cfi, const struct unwind_abi *abi, uint64_t address,
		       struct truth *truth)
{
	struct machine machine = {.abi = abi, .ip = address, .sp = SP_INVENTED, .bp = BP_INVENTED};
	bool ip_undefined, bp_undefined, sp_undefined;
	Dwarf_Frame *frame;
	Dwarf_Op *ops = NULL;
	size_t count = 0;
	int column;

	if (dwarf_cfi_addrframe(cfi, address, &frame))
		return false;
	column = dwarf_frame_info(frame, &truth->start, &truth->stop, &truth->signal);
	assert_int_equal(column, abi->dwarf_ip);
	if (!dwarf_frame_cfa(frame, &ops, &count))
		truth->cfa = evaluate(&machine, ops, count);
	machine.cfa = truth->cfa.number;
	truth->ip = caller_register(&machine, frame, abi->dwarf_ip, 0, &ip_undefined);
	truth->bp = caller_register(&machine, frame, abi->dwarf_bp, machine.bp, &bp_undefined);
	truth->sp = caller_register(&machine, frame, abi->dwarf_sp, 0, &sp_undefined);
	truth->end = ip_undefined;
	truth->expressible =
		truth->cfa.known && is_plain_cfa(abi, ops, count) && truth->sp.known &&
		truth->sp.number == truth->cfa.number && truth->ip.known &&
		truth->ip.number ==
			invented_word(abi,
				      truth->cfa.number + (uint64_t)(int64_t)abi->return_offset);
	free(frame);
	return true;
}

/*
 * The comparison.
 */

struct subject {
	Elf *elf;
	Dwarf_CFI *cfi;
	struct cfi_table full, pruned;
	GElf_Phdr code[8]; /* executable segments */
	size_t code_count;
	uint64_t compared, stopped, known_by_code, lost_bp, mismatched;
};

static uint64_t address_of(const struct subject *subject, uint64_t offset)
{
	for (size_t i = 0; i < subject->code_count; i++)
		if (offset - subject->code[i].p_offset < subject->code[i].p_filesz)
			return offset - subject->code[i].p_offset + subject->code[i].p_vaddr;
	return UINT64_MAX;
}

static bool is_same_bp(struct subject *subject, const struct truth *truth,
		       struct unwind_frame *frame)
{
	if (frame->bp_place == UNWIND_BP_UNKNOWN) {
		subject->lost_bp += truth->bp.known;
		return true;
	}
	return unwind_load_bp((void *)subject->full.abi, frame) == UNWIND_CONTINUE &&
	       truth->bp.known && frame->bp == truth->bp.number;
}

static bool is_right(struct subject *subject, const struct unwind_row *row, uint64_t address,
		     const struct truth *truth)
{
	struct unwind_frame frame = {.ip = address, .sp = SP_INVENTED, .bp = BP_INVENTED};
	enum unwind_result result =
		unwind_step((void *)subject->full.abi, subject->full.abi, row, &frame);

	switch (result) {
	case UNWIND_NO_RULE:
		subject->stopped++;
		return !truth->expressible && !truth->end;
	case UNWIND_END:
		return truth->end;
	case UNWIND_NO_PROGRESS: /* a CFA below the invented sp: frames of negative size */
		return truth->cfa.known && (int64_t)(truth->cfa.number - SP_INVENTED) <= 0;
	case UNWIND_CONTINUE:
	case UNWIND_INTERRUPTED:
		return !truth->end && (result == UNWIND_INTERRUPTED) == truth->signal &&
		       truth->cfa.known && frame.sp == truth->sp.number && truth->ip.known &&
		       frame.ip == truth->ip.number && is_same_bp(subject, truth, &frame);
	default:
		return false;
	}
}

/* Signal trampolines, and the byte before a coroutine's outermost function. */
static bool is_known_by_code(struct subject *subject, const struct unwind_row *row)
{
	bool is_signal = unwind_row_cfa(row) == UNWIND_CFA_SIGNAL;
	bool is_end = unwind_row_cfa(row) == UNWIND_CFA_END && row[1].offset == row->offset + 1;

	subject->known_by_code += is_signal || is_end;
	return is_signal || is_end;
}

/* Compare at an address. Returns up to where libdw's answer holds. */
static uint64_t compare(struct subject *subject, uint64_t offset, uint64_t address)
{
	const struct unwind_row *row = cfi_table_find(&subject->full, offset);
	struct truth truth = {0};
	bool right;

	subject->compared++;
	if (!find_truth(subject->cfi, subject->full.abi, address, &truth)) {
		right = unwind_row_cfa(row) == UNWIND_CFA_GAP || is_known_by_code(subject, row);
		truth.stop = address + 1;
	} else {
		right = is_right(subject, row, address, &truth);
	}
	if (!right && subject->mismatched++ < 10)
		print_error("at 0x%llx: row %d, cfa %d, bp %d\n", (unsigned long long)address,
			    row->kinds, row->cfa_offset, row->bp_offset);
	return truth.stop;
}

/* Every row's first byte, and the first byte of each of libdw's where those are more. */
static void compare_rows(struct subject *subject, size_t stride)
{
	for (size_t i = 0; i + 1 < subject->full.rows.count; i += stride) {
		const struct unwind_row *row = &subject->full.rows.items[i];
		uint64_t address = address_of(subject, row->offset);
		uint64_t end = address_of(subject, row[1].offset - 1) + 1;

		if (address == UINT64_MAX || end == 0)
			continue;
		if (unwind_row_cfa(row) == UNWIND_CFA_GAP)
			end = address + 1;
		while (address < end)
			address = compare(
				subject, row->offset + (address - address_of(subject, row->offset)),
				address);
	}
}

/* A generator of our own: the same addresses in every run. */
static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33;
}

static void compare_random(struct subject *subject, size_t count)
{
	uint64_t seed = 1;

	while (count--) {
		const GElf_Phdr *code = &subject->code[next_random(&seed) % subject->code_count];
		uint64_t skip = next_random(&seed) % code->p_filesz;

		compare(subject, code->p_offset + skip, code->p_vaddr + skip);
	}
}

static bool is_equal(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->kinds == b->kinds && a->cfa_offset == b->cfa_offset &&
	       a->bp_offset == b->bp_offset;
}

static void compare_call(struct subject *subject, uint64_t return_offset)
{
	const struct unwind_row *full = cfi_table_find(&subject->full, return_offset - 1);
	const struct unwind_row *pruned = cfi_table_find(&subject->pruned, return_offset - 1);

	subject->compared++;
	if (!is_equal(full, pruned) && subject->mismatched++ < 10)
		print_error("call before 0x%llx: pruned differs\n",
			    (unsigned long long)return_offset);
}

/* The pruned table says behind each call what the full one says. */
static void compare_calls(struct subject *subject, size_t bytes_max)
{
	size_t size;
	const uint8_t *file = (const uint8_t *)elf_rawfile(subject->elf, &size);
	cs_insn *insn;
	csh handle;

	assert_int_equal(cs_open(CS_ARCH_X86,
				 subject->full.abi->word == 8 ? CS_MODE_64 : CS_MODE_32, &handle),
			 CS_ERR_OK);
	cs_option(handle, CS_OPT_SKIPDATA, CS_OPT_ON);
	insn = cs_malloc(handle);
	for (size_t i = 0; i < subject->code_count; i++) {
		const uint8_t *code = file + subject->code[i].p_offset;
		uint64_t at = subject->code[i].p_offset;
		size_t left = subject->code[i].p_filesz < bytes_max ? subject->code[i].p_filesz
								    : bytes_max;

		while (cs_disasm_iter(handle, &code, &left, &at, insn))
			if (insn->id == X86_INS_CALL)
				compare_call(subject, at);
	}
	cs_free(insn, 1);
	cs_close(&handle);
}

static void open_subject(struct subject *subject, Elf *elf)
{
	GElf_Phdr header;
	size_t size;
	const char *image = elf_rawfile(elf, &size);
	struct error error;

	*subject = (struct subject){.elf = elf};
	subject->cfi = dwarf_getcfi_elf(elf);
	assert_non_null(subject->cfi);
	assert_int_equal(cfi_table_build_image(image, size, true, &subject->full, &error), 0);
	assert_int_equal(cfi_table_build_image(image, size, false, &subject->pruned, &error), 0);
	for (int i = 0; gelf_getphdr(elf, i, &header) && subject->code_count < 8; i++)
		if (header.p_type == PT_LOAD && header.p_flags & PF_X)
			subject->code[subject->code_count++] = header;
}

static void close_subject(struct subject *subject)
{
	cfi_table_free(&subject->full);
	cfi_table_free(&subject->pruned);
	dwarf_cfi_end(subject->cfi);
}

static void check_order(const struct cfi_table *table)
{
	for (size_t i = 1; i < table->rows.count; i++)
		assert_true(table->rows.items[i].offset > table->rows.items[i - 1].offset);
}

static void check_subject(struct subject *subject, const char *name, bool sampled)
{
	size_t rows = subject->full.rows.count;

	check_order(&subject->full);
	check_order(&subject->pruned);
	compare_rows(subject, sampled ? rows / SAMPLE + 1 : 1);
	compare_random(subject, RANDOM);
	compare_calls(subject, sampled ? 4 << 20 : SIZE_MAX);
	print_message("%s: %zu rows, %zu pruned; %llu comparisons, %llu mismatches, %llu stops, "
		      "%llu known by code alone, %llu frame pointers given up\n",
		      name, rows, subject->pruned.rows.count, (unsigned long long)subject->compared,
		      (unsigned long long)subject->mismatched, (unsigned long long)subject->stopped,
		      (unsigned long long)subject->known_by_code,
		      (unsigned long long)subject->lost_bp);
	assert_int_equal(subject->mismatched, 0);
}

static void check_file(const char *path, bool sampled)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct subject subject;
	Elf *elf;

	if (fd < 0) {
		print_message("[  SKIP   ] no %s\n", path);
		skip();
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(elf);
	open_subject(&subject, elf);
	check_subject(&subject, path, sampled);
	close_subject(&subject);
	elf_end(elf);
	close(fd);
}

/* The first file of a pattern, or the pattern. */
static const char *find_file(const char *pattern, char path[PATH_MAX])
{
	glob_t found = {0};

	snprintf(path, PATH_MAX, "%s",
		 glob(pattern, 0, NULL, &found) ? pattern : found.gl_pathv[0]);
	globfree(&found);
	return path;
}

static void check_pattern(const char *pattern, bool sampled)
{
	char path[PATH_MAX];

	check_file(find_file(pattern, path), sampled);
}

static void test_libc(void **state)
{
	(void)state;
	check_pattern("/lib/*-linux-gnu*/libc.so.6", false);
}

static void test_libc_32(void **state)
{
	(void)state;
	check_pattern("/lib32/libc.so.6", false);
}

static void test_libstdcxx(void **state)
{
	(void)state;
	check_pattern("/usr/lib/*-linux-gnu*/libstdc++.so.6", false);
}

static void test_python(void **state)
{
	(void)state;
	check_pattern("/usr/bin/python3", false);
}

static void test_libcrypto(void **state)
{
	(void)state;
	check_pattern("/usr/lib/*-linux-gnu*/libcrypto.so.3", false);
}

static void test_cc1(void **state)
{
	(void)state;
	check_pattern("/usr/lib/gcc/*/*/cc1", true);
}

static void test_libllvm(void **state)
{
	(void)state;
	check_pattern("/usr/lib/*-linux-gnu*/libLLVM-*.so.1", true);
}

/* Files named on the command line are compared in full: tests/unit/test_cfi FILE… */
static int check_files(char **paths)
{
	for (; *paths; paths++)
		check_file(*paths, false);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc),      cmocka_unit_test(test_libc_32),
		cmocka_unit_test(test_libstdcxx), cmocka_unit_test(test_python),
		cmocka_unit_test(test_libcrypto), cmocka_unit_test(test_cc1),
		cmocka_unit_test(test_libllvm),
	};

	if (argc > 1)
		return check_files(argv + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
