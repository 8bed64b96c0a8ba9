// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .ARM.exidx compared with .debug_frame of the same code, as read by libdw: at every call the row
 * must give the same caller; elsewhere it may also refuse.
 *
 * Under sanitizers only every fifth combination of compiler and flags is tried. EXHAUSTIVE=1 tries
 * all of them (see sweep.h).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <capstone/capstone.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi_truth_link.h"
#include "symbol/row/stop.h"
#include "symbol/cfi_table.h"
#include "symbol/exidx/program.h"
#include "tests/unit/cross.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sweep.h"

/*
 * Programs.
 */

static const struct unwind_abi *const arm = &unwind_abi_arm;

/* A row as text: the CFA, and how many words below it lr, fp and r7 are saved. */
static void print_row(const struct unwind_row *row, char *text)
{
	static const char *const bases[16] = {
		[UNWIND_CFA_SP] = "sp",         [UNWIND_CFA_BP] = "fp",
		[UNWIND_CFA_SECOND] = "r7",     [UNWIND_CFA_STOP] = "stop",
		[UNWIND_CFA_SIGNAL] = "signal",
	};
	unsigned int bits = unwind_row_pushed(row);

	if (unwind_row_cfa(row) == UNWIND_CFA_STOP)
		strcpy(text, "stop");
	else
		sprintf(text, "%s%+d %u %u %u", bases[unwind_row_cfa(row)], row->cfa_offset,
			bits & 7, bits >> 3 & 15, bits >> 7 & 15);
}

static const struct program_case {
	const char *bytes;
	size_t size;
	const char *row;
} programs[] = {
#define PROGRAM(bytes, row)                   \
	{                                     \
		bytes, sizeof(bytes) - 1, row \
	}
	PROGRAM("\xb0\xb0\xb0", "sp+0 0 0 0"),
	PROGRAM("\x00\xb0\xb0", "sp+1 0 0 0"),
	PROGRAM("\x3f\xb0\xb0", "sp+64 0 0 0"),
	PROGRAM("\x03\x41\xb0", "sp+2 0 0 0"),
	PROGRAM("\x84\x00\xb0", "sp+1 1 0 0"),                 /* pop {lr} */
	PROGRAM("\x84\x80\xb0", "sp+2 1 2 0"),                 /* fp, lr */
	PROGRAM("\x84\x08\xb0", "sp+2 1 0 2"),                 /* r7, lr */
	PROGRAM("\x82\x00\xb0", "stop"),                       /* sp, outside of a signal frame */
	PROGRAM("\x80\x00\xb0", "stop"),                       /* "refuse to unwind" */
	PROGRAM("\xa7\xb0\xb0", "sp+8 0 1 5"),                 /* r4-r11 */
	PROGRAM("\xaf\xb0\xb0", "sp+9 1 2 6"),                 /* r4-r11, lr */
	PROGRAM("\xa8\xb0\xb0", "sp+2 1 0 0"),                 /* r4, lr */
	PROGRAM("\xab\xb1\x0f\xb0", "sp+9 5 0 6"),             /* r4-r7, lr; r0-r3 */
	PROGRAM("\xb1\x08\x84\x00", "sp+2 1 0 0"),             /* r3, lr */
	PROGRAM("\xb1\x00\xb0", "stop"),                       /* spare */
	PROGRAM("\xb1\x1f\xb0", "stop"),                       /* spare */
	PROGRAM("\x97\x41\x84\x08", "r7+0 1 0 2"),             /* vsp = r7; -8; r7, lr */
	PROGRAM("\x9b\x40\x84\x80", "fp+1 1 2 0"),             /* vsp = fp; -4; fp, lr */
	PROGRAM("\x9d\xb0\xb0", "stop"),                       /* reserved */
	PROGRAM("\x94\xb0\xb0", "stop"),                       /* vsp = r4 */
	PROGRAM("\xa0\x97\xb0", "stop"),                       /* switches stacks half way */
	PROGRAM("\xb2\x00\x84\x00\xb0", "sp+130 1 0 0"),       /* 0x204 bytes */
	PROGRAM("\xb2\xa8\xc2\x01\x84\x00", "sp+25002 1 0 0"), /* 100004 */
	PROGRAM("\xb2\xff\xff\xff\xff\x0f\xb0", "stop"),       /* too far */
	PROGRAM("\xb2\xff\xff\xff\xff\xff\xff", "stop"),       /* unterminated */
	PROGRAM("\xb3\x81\x84\x00", "sp+6 1 0 0"),             /* FSTMX of d8, d9 */
	PROGRAM("\xb8\x84\x00", "sp+4 1 0 0"),                 /* and of d8 */
	PROGRAM("\xc9\x82\xb1\x08\x84\x00", "sp+8 1 0 0"),     /* d8-d10 */
	PROGRAM("\xc8\x01\xb0", "sp+4 0 0 0"),                 /* d16, d17 */
	PROGRAM("\xd7\x84\x00", "sp+17 1 0 0"),                /* d8-d15 */
	PROGRAM("\xc0\xb0", "sp+2 0 0 0"),                     /* iWMMXt */
	PROGRAM("\xc6\x02\xb0", "sp+6 0 0 0"),
	PROGRAM("\xc7\x05\xb0", "sp+2 0 0 0"),
	PROGRAM("\xc7\x00\xb0", "stop"),
	PROGRAM("\xca\xb0", "stop"),
	PROGRAM("\xd8\xb0", "stop"),
	PROGRAM("\xff\xb0", "stop"),
	PROGRAM("\xb6\xb0", "stop"),
	PROGRAM("\xb5\xb4\x84\x00", "sp+2 1 0 0"),              /* authentication */
	PROGRAM("\x84", "stop"),                                /* truncated */
	PROGRAM("\x27\xb1\x0f\x8f\xff\xb0", "signal+53 0 0 0"), /* glibc's, rt */
	PROGRAM("\x07\xb1\x0f\x8f\xff\xb0", "signal+21 0 0 0"),
	PROGRAM("\x07\x8f\xff\xb0", "signal+17 0 0 0"),
};

static void test_programs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct cfi_rules rules;
		struct unwind_row row;
		char text[64];

		exidx_program_row((const uint8_t *)programs[i].bytes, programs[i].size, &rules,
				  &row);
		print_row(&row, text);
		if (strcmp(text, programs[i].row))
			fail_msg("program %zu: expected %s, got %s", i, programs[i].row, text);
	}
}

/*
 * Shapes.
 */

struct subject {
	bool may_refuse; /* calls */
	int fd, described_fd;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *cfi;
	struct cfi_table full, pruned;
	struct link_counts all, calls;
};

/* `bare` is the program without .debug_frame. */
static void open_subject(struct subject *subject, const char *described, const char *bare)
{
	*subject = (struct subject){
		.fd = open(bare, O_RDONLY | O_CLOEXEC),
		.described_fd = open(described, O_RDONLY | O_CLOEXEC),
	};
	assert_true(subject->fd >= 0 && subject->described_fd >= 0);
	elf_version(EV_CURRENT);
	subject->elf = elf_begin(subject->described_fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(subject->elf);
	subject->dwarf = dwarf_begin_elf(subject->elf, DWARF_C_READ, NULL);
	subject->cfi = subject->dwarf ? dwarf_getcfi(subject->dwarf) : NULL;
	assert_non_null(subject->cfi);
	assert_int_equal(cfi_table_build(subject->fd, true, &subject->full, NULL), 0);
	assert_int_equal(cfi_table_build(subject->fd, false, &subject->pruned, NULL), 0);
	assert_int_equal(subject->full.counts.outside, 0);
	assert_int_equal(subject->full.counts.stops[CFI_STOP_PROGRAM], 0);
}

static void close_subject(struct subject *subject)
{
	cfi_table_free(&subject->full);
	cfi_table_free(&subject->pruned);
	dwarf_end(subject->dwarf);
	elf_end(subject->elf);
	close(subject->fd);
	close(subject->described_fd);
}

static uint64_t offset_of(const struct subject *subject, uint64_t address)
{
	GElf_Phdr header;

	for (int i = 0; gelf_getphdr(subject->elf, i, &header); i++)
		if (header.p_type == PT_LOAD && address - header.p_vaddr < header.p_filesz)
			return address - header.p_vaddr + header.p_offset;
	fail_msg("no code at 0x%llx", (unsigned long long)address);
	return 0;
}

/* What .debug_frame has and a row could express may be missing in exidx only outside of calls. */
static void compare(struct subject *subject, const struct cfi_table *table, uint64_t address,
		    bool is_call)
{
	struct link_counts *counts = is_call ? &subject->calls : &subject->all;
	const struct unwind_row *row = cfi_table_find(table, offset_of(subject, address));
	struct link_truth truth;
	bool is_right;

	if (!find_link_truth(subject->cfi, arm, address, &truth))
		return;
	counts->compared++;
	if (unwind_row_cfa(row) == UNWIND_CFA_STOP || unwind_row_cfa(row) == UNWIND_CFA_GAP) {
		counts->stopped++;
		is_right = !is_call || subject->may_refuse || is_inexpressible(arm, &truth);
	} else {
		is_right = is_right_link(arm, row, address, &truth, counts);
	}
	if (!is_right && counts->mismatched++ < 10)
		print_error("%s at 0x%llx: kinds %x, cfa %d, places %x\n",
			    is_call ? "call" : "code", (unsigned long long)address, row->kinds,
			    row->cfa_offset, (unsigned int)unwind_row_pushed(row));
}

static bool is_call(const cs_insn *insn)
{
	return insn->id == ARM_INS_BL || insn->id == ARM_INS_BLX;
}

/*
 * Mapping symbols mark the start of ARM code, Thumb code and data (ELF for the Arm Architecture,
 * 5.5.5).
 */
struct region {
	uint64_t address;
	char kind; /* 'a', 't' or 'd' */
};

static int compare_regions(const void *a, const void *b)
{
	const struct region *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* The symbols of one section. */
static size_t find_regions(Elf *elf, size_t index, struct region *regions, size_t max)
{
	Elf_Scn *section = NULL;
	size_t count = 0;
	GElf_Shdr header;
	GElf_Sym symbol;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data = elf_getdata(section, NULL);

		gelf_getshdr(section, &header);
		for (int i = 0; header.sh_type == SHT_SYMTAB && gelf_getsym(data, i, &symbol);
		     i++) {
			const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);

			if (symbol.st_shndx != index || name[0] != '$' || count == max)
				continue;
			regions[count++] = (struct region){symbol.st_value, name[1]};
		}
	}
	qsort(regions, count, sizeof(*regions), compare_regions);
	return count;
}

static void compare_region(struct subject *subject, csh handle, const struct region *region,
			   uint64_t end)
{
	uint64_t address = region->address;
	size_t size, left = end - address;
	const uint8_t *code = (const uint8_t *)elf_rawfile(subject->elf, &size);
	cs_insn *insn = cs_malloc(handle);

	code += offset_of(subject, address);
	cs_option(handle, CS_OPT_MODE, region->kind == 't' ? CS_MODE_THUMB : CS_MODE_ARM);
	while (cs_disasm_iter(handle, &code, &left, &address, insn)) {
		/* A last one fills up to a pool's start. Without tables .debug_frame is not of
		 * epilogues. */
		if (!subject->may_refuse && (left || insn->id != ARM_INS_NOP))
			compare(subject, &subject->full, insn->address, false);
		if (is_call(insn))
			compare(subject, &subject->pruned, insn->address + insn->size - 1, true);
	}
	cs_free(insn, 1);
}

#define REGIONS_MAX 4096

static void compare_section(struct subject *subject, Elf_Scn *section, csh handle)
{
	struct region *regions = calloc(REGIONS_MAX, sizeof(*regions));
	GElf_Shdr header;
	size_t count;

	assert_non_null(regions);
	gelf_getshdr(section, &header);
	count = find_regions(subject->elf, elf_ndxscn(section), regions, REGIONS_MAX);
	for (size_t i = 0; header.sh_flags & SHF_EXECINSTR && i < count; i++) {
		uint64_t end =
			i + 1 < count ? regions[i + 1].address : header.sh_addr + header.sh_size;

		if (regions[i].kind != 'd')
			compare_region(subject, handle, &regions[i], end);
	}
	free(regions);
}

static void compare_code(struct subject *subject)
{
	Elf_Scn *section = NULL;
	csh handle;

	assert_int_equal(cs_open(CS_ARCH_ARM, CS_MODE_ARM, &handle), CS_ERR_OK);
	cs_option(handle, CS_OPT_SKIPDATA, CS_OPT_ON);
	while ((section = elf_nextscn(subject->elf, section)))
		compare_section(subject, section, handle);
	cs_close(&handle);
}

static void check_program(struct scratch *scratch, const char *command, const char *source,
			  bool may_refuse, struct link_counts sums[2])
{
	char described[PATH_MAX];
	struct subject subject;

	cross_build(scratch, command, source);
	assert_int_equal(scratch_run(scratch, "arm-linux-gnueabihf-objcopy -g shapes bare"), 0);
	snprintf(described, sizeof(described), "%s/shapes", scratch->root);
	open_subject(&subject, described, scratch_path(scratch, "bare"));
	subject.may_refuse = may_refuse;
	compare_code(&subject);
	if (subject.all.mismatched || subject.calls.mismatched)
		print_error("%s %s\n", command, source);
	assert_int_equal(subject.all.mismatched + subject.calls.mismatched, 0);
	sums[0].compared += subject.all.compared;
	sums[0].stopped += subject.all.stopped;
	sums[1].compared += subject.calls.compared;
	sums[1].stopped += subject.calls.stopped;
	close_subject(&subject);
}

static const char *const optimisations[] = {
	"-O0",
	"-O1",
	"-O2",
	"-O3",
	"-Os",
	"-O2 -fno-omit-frame-pointer",
	"-O2 -fstack-protector-all",
	"-O2 -fno-shrink-wrap",
};

#define WITH_TABLES    "-funwind-tables"
#define WITHOUT_TABLES "-fno-unwind-tables -fno-asynchronous-unwind-tables"

static void check_shapes(struct scratch *scratch, const char *compiler, const char *extra,
			 const char *tables, struct link_counts sums[2])
{
	static const char *const sources[] = {"shapes.c", "shapes.cc"};
	bool may_refuse = strcmp(tables, WITH_TABLES);
	size_t step = may_refuse ? 2 : 1; /* exceptions need tables */
	static size_t builds;
	size_t built = 0;
	char command[512];

	for (size_t i = 0; i < 2 * sizeof(optimisations) / sizeof(optimisations[0]); i += step) {
		if (may_refuse && strstr(optimisations[i / 2], "pointer"))
			continue; /* the same by another register, for all that libdw knows */
		if (!sweep_takes(&builds, 5))
			continue;
		snprintf(command, sizeof(command), "%s-%s -shared -fPIC -g %s %s %s -o shapes",
			 compiler, i % 2 ? "g++" : "gcc", tables, extra, optimisations[i / 2]);
		check_program(scratch, command, sources[i % 2], may_refuse, sums);
		built++;
	}
	print_message("%s %s %s: %llu calls, %llu refused; %llu instructions, %llu refused\n",
		      compiler, extra, tables, (unsigned long long)sums[1].compared,
		      (unsigned long long)sums[1].stopped, (unsigned long long)sums[0].compared,
		      (unsigned long long)sums[0].stopped);
	assert_true(built && sums[1].compared > 30 * built);
}

/* .ARM.exidx covers all functions, and the code itself most of them: not what is reached by a jump
 * table, nor functions whose paths disagree. */
static void check_both(struct scratch *scratch, const char *compiler, const char *extra)
{
	struct link_counts described[2] = {{0}, {0}}, bare[2] = {{0}, {0}};

	check_shapes(scratch, compiler, extra, WITH_TABLES, described);
	assert_int_equal(described[1].stopped, 0);
	check_shapes(scratch, compiler, extra, WITHOUT_TABLES, bare);
	assert_true(bare[1].stopped * 2 < bare[1].compared);
}

static void test_thumb(void **state)
{
	cross_require("arm-linux-gnueabihf-g++");
	check_both(*state, "arm-linux-gnueabihf", "-mthumb");
}

static void test_arm(void **state)
{
	cross_require("arm-linux-gnueabihf-g++");
	check_both(*state, "arm-linux-gnueabihf", "-marm");
}

static void test_soft(void **state)
{
	cross_require("arm-linux-gnueabi-g++");
	cross_require("arm-linux-gnueabihf-objcopy");
	check_both(*state, "arm-linux-gnueabi", "-marm");
}

static void test_old_thumb(void **state)
{
	cross_require("arm-linux-gnueabi-g++");
	cross_require("arm-linux-gnueabihf-objcopy");
	check_both(*state, "arm-linux-gnueabi", "-mthumb");
}

/* The first instruction of a function, where probes are placed. */
static void test_entries(void **state)
{
	struct scratch *scratch = *state;
	static const char *const names[] = {"caller",  "many", "variadic",
					    "dynamic", "big",  "floating"};
	struct subject subject;
	char described[PATH_MAX];

	cross_require("arm-linux-gnueabihf-gcc");
	cross_build(scratch,
		    "arm-linux-gnueabihf-gcc -shared -fPIC -g -O2 -funwind-tables -o shapes",
		    "shapes.c");
	assert_int_equal(scratch_run(scratch, "arm-linux-gnueabihf-objcopy -g shapes bare"), 0);
	snprintf(described, sizeof(described), "%s/shapes", scratch->root);
	open_subject(&subject, described, scratch_path(scratch, "bare"));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char command[PATH_MAX + 64];
		FILE *pipe;
		unsigned long address = 0;
		const struct unwind_row *row;

		snprintf(command, sizeof(command), "arm-linux-gnueabihf-nm %s | grep ' T %s$'",
			 described, names[i]);
		pipe = popen(command, "r");
		assert_non_null(pipe);
		assert_int_equal(fscanf(pipe, "%lx", &address), 1);
		pclose(pipe);
		row = cfi_table_find(&subject.full, offset_of(&subject, address & ~1UL));
		if (row->kinds || row->cfa_offset || row->bp_offset)
			fail_msg("%s: kinds %x, cfa %d", names[i], row->kinds, row->cfa_offset);
	}
	close_subject(&subject);
}

/*
 * glibc's return trampolines for signals.
 */

static void check_trampolines(const char *path, const char *const codes[2], size_t size)
{
	static const short saved[2] = {21, 53};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct cfi_table table;
	size_t file_size;
	const char *file;
	Elf *elf;

	if (fd < 0) {
		print_message("[  SKIP   ] no %s\n", path);
		skip();
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	file = elf_rawfile(elf, &file_size);
	assert_int_equal(cfi_table_build(fd, false, &table, NULL), 0);
	for (int i = 0; i < 2; i++) {
		const char *found = memmem(file, file_size, codes[i], size);
		const struct unwind_row *row;

		assert_non_null(found);
		row = cfi_table_find(&table, (uint64_t)(found - file) - 1);
		assert_int_equal(unwind_row_cfa(row), UNWIND_CFA_SIGNAL);
		assert_int_equal(row->cfa_offset, saved[i]);
	}
	cfi_table_free(&table);
	elf_end(elf);
	close(fd);
}

static void test_trampolines(void **state)
{
	static const char *const codes[] = {"\x4f\xf0\x77\x07\x00\xdf", "\x4f\xf0\xad\x07\x00\xdf"};

	(void)state;
	check_trampolines("/usr/arm-linux-gnueabihf/lib/libc.so.6", codes, 6);
}

static void test_trampolines_soft(void **state)
{
	static const char *const codes[] = {"\x77\x70\xa0\xe3\x00\x00\x00\xef",
					    "\xad\x70\xa0\xe3\x00\x00\x00\xef"};

	(void)state;
	check_trampolines("/usr/arm-linux-gnueabi/lib/libc.so.6", codes, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test_setup_teardown(test_thumb, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_arm, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_soft, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_old_thumb, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_entries, scratch_setup, scratch_teardown),
		cmocka_unit_test(test_trampolines),
		cmocka_unit_test(test_trampolines_soft),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
