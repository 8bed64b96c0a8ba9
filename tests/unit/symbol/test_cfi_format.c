// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hand-written call frame information (cfi_file.h), and the expected rows as text. For example,
 * "800 sp+1 bp@cfa-2" is a row that starts at file offset 0x800.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/unwind_link_row.h"
#include "symbol/cfi/calls.h"
#include "symbol/cfi_table.h"
#include "cfi_file.h"

/* x86-64 and i386 have different registers. One program for each. */
#define X86_64_START  PROGRAM("\x0c\x07\x08\x90\x01") /* CFA = rsp + 8, rip at CFA - 8 */
#define I386_START    PROGRAM("\x0c\x04\x04\x88\x01")
#define POWERPC_START PROGRAM("\x0c\x01\x00")

static const struct cie x86_64_cie = {1,  "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4,
				      -8, 16,   X86_64_START};
static const struct cie i386_cie = {1, "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4, -4, 8, I386_START};
static const struct cie powerpc_cie = {1,  "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4,
				       -4, 65,   POWERPC_START};
static const struct cie aarch64_cie = {1,  "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4,
				       -8, 30,   PROGRAM("\x0c\x1f\x00")};

/* As in the kernel's vDSO: sp is *(*(r1 + 256) + 4); r31, lr and ip are at offsets 124, 144 and 128
 * from that pointer, and ip has its own column. */
#define SIGNAL_START                                       \
	PROGRAM("\x0f\x07\x71\x80\x02\x06\x23\x04\x06"     \
		"\x10\x1f\x06\x71\x80\x02\x06\x23\x7c"     \
		"\x10\x41\x07\x71\x80\x02\x06\x23\x90\x01" \
		"\x10\x43\x07\x71\x80\x02\x06\x23\x80\x01")

static const struct cie signal_cie = {1,  "zRS", DW_EH_PE_pcrel | DW_EH_PE_sdata4,
				      -4, 67,    SIGNAL_START};
static const struct cie no_signal_cie = {1,  "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata4,
					 -4, 67,   SIGNAL_START};

/*
 * Rows as text.
 */

static size_t print_offset(char *text, const char *base, int offset)
{
	return (size_t)sprintf(text, "%s%+d", base, offset);
}

static size_t print_cfa(char *text, const struct unwind_row *row)
{
	static const char *const special[] = {"end", "stop", "signal", "gap", "r7", "signal@"};
	enum unwind_cfa kind = unwind_row_cfa(row);
	const char *base = kind & UNWIND_CFA_BASE_BP ? "bp" : "sp";
	size_t size = 0;

	if (kind >= UNWIND_CFA_END) {
		size = (size_t)sprintf(text, "%s", special[kind - UNWIND_CFA_END]);
		return kind == UNWIND_CFA_SIGNAL || kind >= UNWIND_CFA_SECOND
			       ? size + print_offset(text + size, "", row->cfa_offset)
			       : size;
	}
	if (kind & UNWIND_CFA_LOAD)
		text[size++] = '*';
	size += print_offset(text + size, base, row->cfa_offset);
	if (kind == UNWIND_CFA_PLT)
		size += (size_t)sprintf(text + size, " plt%d", row->bp_offset);
	else if (kind & UNWIND_CFA_ADD_WORD)
		size += (size_t)sprintf(text + size, " +word");
	return size;
}

static size_t print_bp(char *text, const struct unwind_row *row)
{
	switch (unwind_row_bp(row)) {
	case UNWIND_BP_AT_CFA:
		return print_offset(text, " bp@cfa", row->bp_offset);
	case UNWIND_BP_AT_BP:
		return print_offset(text, " bp@bp", row->bp_offset);
	case UNWIND_BP_LOST:
		return (size_t)sprintf(text, " bp?");
	default:
		return 0;
	}
}

/* With a link register: " link" if the return address is saved. */
static size_t print_saves(char *text, const struct unwind_abi *abi, const struct unwind_row *row)
{
	const struct unwind_saves saves = unwind_link_saves(abi, row, 0, 0);
	size_t size = 0;

	if (saves.bp == UNWIND_SAVED)
		size += print_offset(text, " bp@cfa", row->bp_offset);
	if (saves.link == UNWIND_SAVED)
		size += (size_t)sprintf(text + size, " link");
	return size;
}

/* Without the gap before the code. */
static void print_rows(const struct cfi_table *table, char *text)
{
	const struct unwind_row *row;
	const char *separator = "";

	*text = 0;
	vec_each (row, &table->rows) {
		if (row->offset < CODE_AT)
			continue;
		text += sprintf(text, "%s%x ", separator, row->offset);
		separator = ", ";
		text += print_cfa(text, row);
		text += table->abi->link ? print_saves(text, table->abi, row) : print_bp(text, row);
	}
}

static void check_table(const struct object *object, bool full, const char *name,
			const char *expected)
{
	struct cfi_table table = {0};
	struct error error = {0};
	char text[4096];
	int code = cfi_table_build_image(object->bytes, FILE_SIZE, full, &table, &error);

	if (code)
		fail_msg("%s: %d, %s", name, code, error.text);
	print_rows(&table, text);
	if (strcmp(text, expected))
		fail_msg("%s\n  expected %s\n  got      %s", name, expected, text);
	cfi_table_free(&table);
}

/* One CIE, and one function of 0x40 bytes at the start of the code. */
static void make_object(struct object *object, const struct cie *cie, struct program program)
{
	size_t cie_at = object->at = FRAME_AT;

	put_cie(object, cie);
	put_fde(object, cie, cie_at, CODE_AT, 0x40, program);
	if (!object->debug_frame)
		put(object, 4, 0);
	finish(object);
}

/*
 * Tests.
 */

/*
 * A function with a frame pointer, on all kinds of machines.
 */

/* advance 1, CFA + 2 words, bp at CFA - 2 words; advance 3, CFA from bp */
static const struct program x86_64_code = {"\x41\x0e\x10\x86\x02\x43\x0d\x06", 8};
static const struct program i386_code = {"\x41\x0e\x08\x85\x02\x43\x0d\x05", 8};
/* advance 8, CFA + 16, lr at CFA + 4, r31 at CFA - 4 */
static const struct program powerpc_code = {"\x48\x0e\x10\x11\x41\x7f\x9f\x01", 8};
/* addresses are signed, advance 1, CFA + 32, x29 at CFA - 32, x30 at CFA - 24 */
static const struct program aarch64_code = {"\x2d\x41\x0e\x20\x9d\x04\x9e\x03", 8};
static const struct program no_code = {"", 0};
static const char x86_rows[] = "800 sp+1, 801 sp+2 bp@cfa-2, 804 bp+2 bp@cfa-2, 840 gap";
static const struct {
	const char *name;
	struct object object;
	const struct cie *cie;
	struct program program;
	const char *rows;
} machine_cases[] = {
	{"x86-64", {.machine = EM_X86_64, .elf64 = true}, &x86_64_cie, x86_64_code, x86_rows},
	{"x32", {.machine = EM_X86_64}, &x86_64_cie, x86_64_code, x86_rows},
	{"i386", {.machine = EM_386}, &i386_cie, i386_code, x86_rows},
	{"x86-64, big-endian",
	 {.machine = EM_X86_64, .elf64 = true, .big_endian = true},
	 &x86_64_cie,
	 x86_64_code,
	 x86_rows},
	{"i386, big-endian",
	 {.machine = EM_386, .big_endian = true},
	 &i386_cie,
	 i386_code,
	 x86_rows},
	{"PowerPC",
	 {.machine = EM_PPC, .big_endian = true},
	 &powerpc_cie,
	 powerpc_code,
	 "800 sp+0, 808 sp+4 bp@cfa-1 link, 840 gap"},
	{"PowerPC's signal frame",
	 {.machine = EM_PPC, .big_endian = true},
	 &signal_cie,
	 no_code,
	 "800 signal@+64, 840 gap"},
	{"PowerPC, no signal frame",
	 {.machine = EM_PPC, .big_endian = true},
	 &no_signal_cie,
	 no_code,
	 "800 stop, 840 gap"},
	{"AArch64",
	 {.machine = EM_AARCH64, .elf64 = true},
	 &aarch64_cie,
	 aarch64_code,
	 "800 sp+0, 801 sp+4 bp@cfa-4 link, 840 gap"},
	{"AArch64's instruction on x86-64",
	 {.machine = EM_X86_64, .elf64 = true},
	 &x86_64_cie,
	 aarch64_code,
	 "800 stop, 840 gap"},
};

static void test_machines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(machine_cases) / sizeof(machine_cases[0]); i++) {
		struct object object = machine_cases[i].object;

		make_object(&object, machine_cases[i].cie, machine_cases[i].program);
		check_table(&object, true, machine_cases[i].name, machine_cases[i].rows);
		object.stripped = true;
		finish(&object);
		check_table(&object, true, machine_cases[i].name, machine_cases[i].rows);
	}
}

static void test_encodings(void **state)
{
	static const uint8_t right[] = {
		DW_EH_PE_absptr,
		DW_EH_PE_signed,
		DW_EH_PE_udata2,
		DW_EH_PE_udata4,
		DW_EH_PE_udata8,
		DW_EH_PE_sdata2,
		DW_EH_PE_sdata4,
		DW_EH_PE_sdata8,
		DW_EH_PE_uleb128,
		DW_EH_PE_sleb128,
		DW_EH_PE_pcrel | DW_EH_PE_absptr,
		DW_EH_PE_pcrel | DW_EH_PE_sdata2,
		DW_EH_PE_pcrel | DW_EH_PE_sdata8,
		DW_EH_PE_pcrel | DW_EH_PE_sleb128,
		DW_EH_PE_textrel | DW_EH_PE_udata4,
		DW_EH_PE_datarel | DW_EH_PE_udata2,
		DW_EH_PE_datarel | DW_EH_PE_uleb128,
		DW_EH_PE_aligned,
	};
	static const uint8_t wrong[] = {
		DW_EH_PE_omit,
		DW_EH_PE_indirect,
		DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4,
		DW_EH_PE_funcrel,
		0x05,
		0x0f,
		0x60,
	};
	struct cie cie = x86_64_cie;
	char name[32];

	(void)state;
	for (int big = 0; big < 2; big++) {
		struct object object = {.machine = EM_X86_64, .elf64 = true, .big_endian = big};

		for (size_t i = 0; i < sizeof(right); i++) {
			cie.encoding = right[i];
			make_object(&object, &cie, PROGRAM(""));
			sprintf(name, "encoding 0x%x", right[i]);
			check_table(&object, true, name, "800 sp+1, 840 gap");
		}
		for (size_t i = 0; i < sizeof(wrong); i++) {
			cie.encoding = wrong[i];
			make_object(&object, &cie, PROGRAM(""));
			sprintf(name, "encoding 0x%x", wrong[i]);
			check_table(&object, true, name, "");
		}
	}
}

static void test_augmentations(void **state)
{
	static const struct {
		const char *letters;
		const char *rows;
	} cases[] = {
		{"", "800 sp+1, 840 gap"},
		{"z", "800 sp+1, 840 gap"},
		{"zR", "800 sp+1, 840 gap"},
		{"zPLR", "800 sp+1, 840 gap"},
		{"zRB", "800 sp+1, 840 gap"},
		{"zRS", "800 stop, 840 gap"},
		{"zRX", ""},
		{"R", ""},
	};
	struct object object = {.machine = EM_X86_64, .elf64 = true};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cie cie = x86_64_cie;

		cie.augmentation = cases[i].letters;
		if (!strchr(cie.augmentation, 'R'))
			cie.encoding = DW_EH_PE_absptr;
		make_object(&object, &cie, PROGRAM(""));
		check_table(&object, true, cases[i].letters, cases[i].rows);
	}
}

static void test_debug_frame(void **state)
{
	static const unsigned int versions[] = {1, 3, 4};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct object object = {.machine = EM_X86_64, .elf64 = true, .debug_frame = true};
		struct cie cie = {versions[i], "", DW_EH_PE_absptr, -8, 16, X86_64_START};

		make_object(&object, &cie, PROGRAM("\x41\x0e\x10"));
		check_table(&object, true, "debug_frame", "800 sp+1, 801 sp+2, 840 gap");
	}
}

static int make_file(const struct object *object)
{
	int fd = memfd_create("object", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, object->bytes, FILE_SIZE), FILE_SIZE);
	return fd;
}

static void check_split(const struct object *object, const struct object *debug,
			struct cfi_table *table)
{
	int fd = make_file(object), debug_fd = make_file(debug);

	assert_int_equal(cfi_table_build_split(fd, debug_fd, true, table, NULL), 0);
	close(fd);
	close(debug_fd);
}

static const struct cie debug_cie = {3, "", DW_EH_PE_absptr, -8, 16, X86_64_START};

/* A separate .debug_frame with functions before, across, within and after that of .eh_frame, which
 * is [0x820, 0x860). */
static void make_debug(struct object *object)
{
	static const struct {
		uint64_t start;
		uint64_t size;
	} functions[] = {{0x800, 0x40}, {0x820, 0x80}, {0x830, 0x80}, {0x860, 0x10}};
	struct program program = PROGRAM("\x41\x0e\x20");

	object->debug_frame = true;
	object->at = FRAME_AT;
	put_cie(object, &debug_cie);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		put_fde(object, &debug_cie, FRAME_AT, functions[i].start, functions[i].size,
			program);
	put_fde(object, &debug_cie, FRAME_AT, (uint64_t)-LOADED_AT, 0x40, program);
	put_fde(object, &debug_cie, FRAME_AT, 0, 0x40, program);
	finish(object);
}

/* Functions that .eh_frame lacks come from the other file, in all formats; see make_debug. */
static void test_merge(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct object object = {.machine = EM_X86_64, .elf64 = i & 1, .big_endian = i & 2};
		struct object debug = object;
		struct cfi_table table;
		char text[4096];

		object.at = FRAME_AT;
		put_cie(&object, &x86_64_cie);
		put_fde(&object, &x86_64_cie, FRAME_AT, 0x820, 0x40, PROGRAM("\x41\x0e\x10"));
		put(&object, 4, 0);
		finish(&object);
		make_debug(&debug);
		check_split(&object, &debug, &table);
		print_rows(&table, text);
		assert_string_equal(text, "800 sp+1, 801 sp+4, 820 sp+1, 821 sp+2, "
					  "860 sp+1, 861 sp+4, 870 gap");
		assert_int_equal(table.counts.functions, 3);
		assert_int_equal(table.counts.doubled, 2);
		assert_int_equal(table.counts.outside, 2);
		assert_int_equal(table.counts.broken, 0);
		cfi_table_free(&table);
	}
}

/* A debug file of another machine, or without contents, has no effect. */
static void test_wrong_debug_file(void **state)
{
	struct object object = {.machine = EM_X86_64, .elf64 = true};
	struct object wrong[] = {
		{.machine = EM_386, .elf64 = true}, {.machine = EM_SPARC}, {.at = 0}};
	struct cfi_table table;
	char text[4096];

	(void)state;
	make_object(&object, &x86_64_cie, PROGRAM("\x41\x0e\x10"));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (wrong[i].machine)
			make_debug(&wrong[i]);
		check_split(&object, &wrong[i], &table);
		print_rows(&table, text);
		assert_string_equal(text, "800 sp+1, 801 sp+2, 840 gap");
		cfi_table_free(&table);
	}
}

/* CFA = rsp + 8 unless noted otherwise; register 6 is rbp, 16 the return address. */
static const struct instruction_case {
	const char *name;
	struct program program;
	const char *rows;
} instruction_cases[] = {
	{"advance_loc1, 2, 4",
	 PROGRAM("\x02\x01\x0e\x10\x03\x02\x00\x0e\x18\x04\x03\x00\x00\x00\x0e\x20"),
	 "800 sp+1, 801 sp+2, 803 sp+3, 806 sp+4, 840 gap"},
	{"MIPS_advance_loc8", PROGRAM("\x1d\x05\0\0\0\0\0\0\0\x0e\x10"),
	 "800 sp+1, 805 sp+2, 840 gap"},
	{"advance beyond the end", PROGRAM("\x02\x50\x0e\x10"), "800 sp+1, 840 gap"},
	{"set_loc back", PROGRAM("\x44\x0e\x10\x01\x00\x00\x00\x00"),
	 "800 sp+1, 804 stop, 840 gap"},
	{"equal neighbours", PROGRAM("\x44\x0e\x08\x44\x0e\x10"), "800 sp+1, 808 sp+2, 840 gap"},
	{"remember and restore", PROGRAM("\x41\x0a\x0e\x10\x86\x02\x41\x0b\x41\x0e\x20"),
	 "800 sp+1, 801 sp+2 bp@cfa-2, 802 sp+1, 803 sp+4, 840 gap"},
	{"restore without remember", PROGRAM("\x41\x0b"), "800 sp+1, 801 stop, 840 gap"},
	{"remember without end",
	 PROGRAM("\x41\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"),
	 "800 sp+1, 801 stop, 840 gap"},
	{"restore, restore_extended", PROGRAM("\x86\x02\x41\xc6\x41\x86\x02\x41\x06\x06"),
	 "800 sp+1 bp@cfa-2, 801 sp+1, 802 sp+1 bp@cfa-2, 803 sp+1, 840 gap"},
	{"offset_extended, _sf, negative", PROGRAM("\x05\x06\x03\x41\x11\x06\x04\x41\x2f\x06\x05"),
	 "800 sp+1 bp@cfa-3, 801 sp+1 bp@cfa-4, 802 sp+1 bp@cfa+5, 840 gap"},
	{"same_value, undefined", PROGRAM("\x86\x02\x08\x06\x41\x07\x06"),
	 "800 sp+1, 801 sp+1 bp?, 840 gap"},
	{"bp in a register, computed, or too far",
	 PROGRAM("\x09\x06\x03\x41\x14\x06\x02\x41\x16\x06\x01\x50\x41\x05\x06\xc8\x01"),
	 "800 sp+1 bp?, 840 gap"},
	{"def_cfa, _sf, _offset_sf", PROGRAM("\x0c\x06\x10\x41\x12\x07\x7d\x41\x13\x7c"),
	 "800 bp+2, 801 sp+3, 802 sp+4, 840 gap"},
	{"GNU_args_size, nop, another register", PROGRAM("\x2e\x20\x00\x83\x04"),
	 "800 sp+1, 840 gap"},
	{"unknown instruction", PROGRAM("\x44\x3e\x44\x0e\x10"), "800 sp+1, 804 stop, 840 gap"},
	{"cut instruction", PROGRAM("\x44\x0c\x07"), "800 sp+1, 804 stop, 840 gap"},
	{"outermost", PROGRAM("\x07\x10"), "800 end, 840 gap"},
	{"return address elsewhere", PROGRAM("\x09\x10\x01\x44\x90\x02"), "800 stop, 840 gap"},
	{"caller's sp elsewhere", PROGRAM("\x09\x07\x08"), "800 stop, 840 gap"},
	{"CFA from another register", PROGRAM("\x0c\x0a\x00"), "800 stop, 840 gap"},
	{"CFA that is no multiple of a word", PROGRAM("\x0e\x0c"), "800 stop, 840 gap"},
	{"CFA too far", PROGRAM("\x0e\x80\x80\x10"), "800 stop, 840 gap"},
	{"CFA *(rbp - 8), rbp at *rbp", PROGRAM("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00"),
	 "800 *bp-1 bp@bp+0, 840 gap"},
	{"CFA *(rsp + 16) + 8", PROGRAM("\x0f\x05\x77\x10\x06\x23\x08"),
	 "800 *sp+2 +word, 840 gap"},
	{"CFA *(rbp + 16) + 8, by lit8, bregx", PROGRAM("\x0f\x06\x92\x06\x10\x06\x38\x22"),
	 "800 *bp+2 +word, 840 gap"},
	{"CFA *(rsp + 16) + 16", PROGRAM("\x0f\x05\x77\x10\x06\x23\x10"), "800 stop, 840 gap"},
	{"CFA of the PLT", PROGRAM("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"),
	 "800 sp+1 plt11, 840 gap"},
	{"a PLT's of another kind", PROGRAM("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x32\x24\x22"),
	 "800 stop, 840 gap"},
	{"offset without a register", PROGRAM("\x0f\x03\x77\x10\x06\x41\x0e\x10"),
	 "800 *sp+2, 801 stop, 840 gap"},
	{"an expression that is cut", PROGRAM("\x0f\x03\x77\x10"), "800 stop, 840 gap"},
};

static void test_instructions(void **state)
{
	struct object object = {.machine = EM_X86_64, .elf64 = true};

	(void)state;
	for (size_t i = 0; i < sizeof(instruction_cases) / sizeof(instruction_cases[0]); i++) {
		const struct instruction_case *one = &instruction_cases[i];

		make_object(&object, &x86_64_cie, one->program);
		check_table(&object, true, one->name, one->rows);
	}
}

/* Like glibc's: each register at its place in the ucontext. */
static void test_signal_frame(void **state)
{
	struct object object = {.machine = EM_X86_64, .elf64 = true};
	struct cie cie = x86_64_cie;

	(void)state;
	cie.augmentation = "zRS";
	make_object(&object, &cie,
		    PROGRAM("\x0f\x04\x77\xa0\x01\x06" /* CFA = *(rsp + 160) */
			    "\x10\x07\x03\x77\xa0\x01" /* rsp there, rip at 168, rbp at 120 */
			    "\x10\x10\x03\x77\xa8\x01\x10\x06\x03\x77\xf8\x00"));
	check_table(&object, true, "signal frame", "800 signal+20, 840 gap");
	make_object(&object, &cie,
		    PROGRAM("\x0f\x04\x77\xa0\x01\x06\x10\x10\x03\x77\xb0\x01\x10\x06\x03\x77\xf8"
			    "\x00"));
	check_table(&object, true, "rip elsewhere", "800 stop, 840 gap");
}

/* musl's trampoline is recognised by its code. The byte before belongs to it, because return
 * addresses are looked up there. */
static void test_signal_trampoline(void **state)
{
	struct object object = {.machine = EM_X86_64, .elf64 = true};

	(void)state;
	make_object(&object, &x86_64_cie, PROGRAM(""));
	memcpy(object.bytes + 0x880, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
	check_table(&object, true, "full", "800 sp+1, 840 gap, 87f signal+20, 889 gap");
	check_table(&object, false, "pruned", "87f signal+20, 900 gap");
}

/* Order, overlap, and code outside of the file. */
static void test_functions(void **state)
{
	struct object object = {.machine = EM_X86_64, .elf64 = true, .at = FRAME_AT};
	struct cfi_table table;

	(void)state;
	put_cie(&object, &x86_64_cie);
	put_fde(&object, &x86_64_cie, FRAME_AT, 0x840, 0x20, PROGRAM("\x0e\x30"));
	put_fde(&object, &x86_64_cie, FRAME_AT, 0x800, 0x30, PROGRAM("\x0e\x10"));
	put_fde(&object, &x86_64_cie, FRAME_AT, 0x820, 0x08, PROGRAM("\x0e\x20"));
	put_fde(&object, &x86_64_cie, FRAME_AT, 0x820, 0x10, PROGRAM("\x0e\x28"));
	put_fde(&object, &x86_64_cie, FRAME_AT, 0x8f0, 0x80, PROGRAM("\x0e\x38"));
	put_fde(&object, &x86_64_cie, FRAME_AT, 0x900, 0x10, PROGRAM("\x0e\x40"));
	put_fde(&object, &x86_64_cie, FRAME_AT, -LOADED_AT, 0x10, PROGRAM("\x0e\x40"));
	put_fde(&object, &x86_64_cie, FRAME_AT + 4, 0x8c0, 0x10, PROGRAM("\x0e\x40"));
	finish(&object);
	check_table(&object, true, "functions",
		    "800 sp+2, 820 sp+4, 828 gap, 840 sp+6, 860 gap, 8f0 sp+7, 900 gap");
	assert_int_equal(cfi_table_build_image(object.bytes, FILE_SIZE, true, &table, NULL), 0);
	assert_int_equal(table.counts.functions, 4);
	assert_int_equal(table.counts.doubled, 1);
	assert_int_equal(table.counts.outside, 2);
	assert_int_equal(table.counts.broken, 1);
	assert_int_equal(unwind_row_cfa(cfi_table_find(&table, 0)), UNWIND_CFA_GAP);
	assert_int_equal(cfi_table_find(&table, 0x827)->cfa_offset, 4);
	assert_int_equal(unwind_row_cfa(cfi_table_find(&table, 0x828)), UNWIND_CFA_GAP);
	assert_int_equal(unwind_row_cfa(cfi_table_find(&table, 1ULL << 32 | 0x827)),
			 UNWIND_CFA_GAP);
	cfi_table_free(&table);
}

static void test_call_end(void **state)
{
	static const struct {
		const char *name;
		struct program code;
		size_t end; /* the call's last byte; 0: none */
	} cases[] = {
		{"rel32", PROGRAM("\xe8\0\0\0\0"), 4},
		{"*%rax", PROGRAM("\xff\xd0"), 1},
		{"*(%rax)", PROGRAM("\xff\x10"), 1},
		{"*8(%rax)", PROGRAM("\xff\x50\x08"), 2},
		{"*128(%rax)", PROGRAM("\xff\x90\x80\0\0\0"), 5},
		{"*8(%rip)", PROGRAM("\xff\x15\x08\0\0\0"), 5},
		{"*(%rax,%rbx,8)", PROGRAM("\xff\x14\xd8"), 2},
		{"*8(%rsp)", PROGRAM("\xff\x54\x24\x08"), 3},
		{"*table(,%rax,8)", PROGRAM("\xff\x14\xc5\0\0\0\0"), 6},
		{"*table(%rsp,%rax,8)", PROGRAM("\xff\x94\xc4\0\0\0\0"), 6},
		{"jmp *%rax", PROGRAM("\xff\xe0"), 0},
		{"push (%rax)", PROGRAM("\xff\x30"), 0},
		{"ret", PROGRAM("\xc3\xc3\xc3"), 0},
		{"cut", PROGRAM("\xe8\0\0\0"), 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t size = cases[i].code.size;
		uint8_t *code = malloc(size); /* so that sanitizers detect reads beyond it */

		assert_non_null(code);
		memcpy(code, cases[i].code.bytes, size);
		for (size_t start = 0; start < size; start++)
			if (cfi_x86_call_end(code, start, size) !=
			    (cases[i].end && start <= cases[i].end ? cases[i].end + 1
								   : CFI_NO_CALL))
				fail_msg("call %s, from byte %zu", cases[i].name, start);
		if (cases[i].end)
			assert_int_equal(cfi_x86_call_end(code, 0, cases[i].end), CFI_NO_CALL);
		free(code);
	}
}

/* Rows without calls are removed, and their neighbours are merged. An end stays. */
static void test_pruning(void **state)
{
	struct object object = {.machine = EM_X86_64, .elf64 = true};

	(void)state;
	make_object(&object, &x86_64_cie,
		    PROGRAM("\x48\x0e\x10\x48\x0e\x18\x48\x0e\x10\x48\x0e\x20\x48\x07\x10"));
	memcpy(object.bytes + 0x809, "\xe8\0\0\0\0", 5);
	memcpy(object.bytes + 0x818, "\xff\xd0", 2);
	/* the opcode in one row, the last byte in the next */
	memcpy(object.bytes + 0x81e, "\xe8\0\0\0\0", 5);
	memset(object.bytes + 0x870, 0xe8, 1);
	check_table(&object, true, "full",
		    "800 sp+1, 808 sp+2, 810 sp+3, 818 sp+2, 820 sp+4, 828 end, 840 gap");
	check_table(&object, false, "pruned", "808 sp+2, 820 sp+4, 828 end, 840 gap");
}

static void test_refusals(void **state)
{
	struct object object = {.machine = EM_SPARC, .elf64 = true};
	struct cfi_table table;
	struct error error;

	(void)state;
	make_object(&object, &x86_64_cie, PROGRAM(""));
	assert_int_equal(cfi_table_build_image(object.bytes, FILE_SIZE, true, &table, &error),
			 -ENOTSUP);
	assert_string_equal(error.text, "cannot unwind stacks of ELF machine 2");
	assert_int_equal(cfi_table_build_image("no ELF", 6, true, &table, &error), -ENOEXEC);
	assert_int_equal(cfi_table_build(-1, true, &table, &error), -ENOEXEC);
}

/* A file that is cut anywhere, or has any byte changed, gives a table or an error. */
static void test_damage(void **state)
{
	struct object object = {.machine = EM_X86_64, .elf64 = true};
	struct cfi_table table;

	(void)state;
	make_object(&object, &x86_64_cie, PROGRAM("\x41\x0e\x10\x0f\x03\x77\x10\x06"));
	for (size_t size = 0; size < FILE_SIZE; size += size < object.frame_end ? 1 : 64) {
		uint8_t *cut = malloc(size + 1);

		assert_non_null(cut);
		memcpy(cut, object.bytes, size);
		if (!cfi_table_build_image(cut, size, true, &table, NULL))
			cfi_table_free(&table);
		free(cut);
	}
	for (size_t at = 0; at < object.frame_end * 2; at++) {
		uint8_t *byte = &object.bytes[at / 2], before = *byte;

		*byte = at % 2 ? 0xff : (uint8_t)(before ^ 0x80);
		if (!cfi_table_build_image(object.bytes, FILE_SIZE, true, &table, NULL))
			cfi_table_free(&table);
		*byte = before;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_augmentations),
		cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_signal_trampoline),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_call_end),
		cmocka_unit_test(test_pruning),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_wrong_debug_file),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
