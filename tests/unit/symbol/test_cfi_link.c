// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of processors with a link register compared with libdw, at every instruction of functions
 * with many shapes, compiled with all options that affect frames, and of these machines' C
 * libraries.
 *
 * One step with the compiled row, on made-up registers and memory, must give the same caller as
 * libdw's rules. A row may refuse only what rows cannot express.
 *
 * Under sanitizers only every seventh combination of compiler and flags is tried. EXHAUSTIVE=1
 * tries all of them (see sweep.h).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

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
#include "tests/unit/cross.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sweep.h"

struct subject {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *cfi, *debug_cfi;
	struct cfi_table full, pruned;
	struct link_counts counts;
	uint64_t calls, stopped_calls;
};

static void open_subject(struct subject *subject, const char *path)
{
	*subject = (struct subject){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	assert_true(subject->fd >= 0);
	elf_version(EV_CURRENT);
	subject->elf = elf_begin(subject->fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(subject->elf);
	subject->cfi = dwarf_getcfi_elf(subject->elf);
	subject->dwarf = dwarf_begin_elf(subject->elf, DWARF_C_READ, NULL);
	subject->debug_cfi = subject->dwarf ? dwarf_getcfi(subject->dwarf) : NULL;
	assert_true(subject->cfi || subject->debug_cfi);
	assert_int_equal(cfi_table_build(subject->fd, true, &subject->full, NULL), 0);
	assert_int_equal(cfi_table_build(subject->fd, false, &subject->pruned, NULL), 0);
}

static void close_subject(struct subject *subject)
{
	cfi_table_free(&subject->full);
	cfi_table_free(&subject->pruned);
	if (subject->cfi)
		dwarf_cfi_end(subject->cfi);
	if (subject->dwarf)
		dwarf_end(subject->dwarf);
	elf_end(subject->elf);
	close(subject->fd);
}

static bool is_signal(const struct unwind_row *row)
{
	return unwind_row_cfa(row) == UNWIND_CFA_SIGNAL ||
	       unwind_row_cfa(row) == UNWIND_CFA_SIGNAL_AT;
}

/* Compares at an address. Returns the end of the range for which libdw's result is valid. */
static uint64_t compare(struct subject *subject, uint64_t offset, uint64_t address)
{
	const struct unwind_abi *abi = subject->full.abi;
	const struct unwind_row *row = cfi_table_find(&subject->full, offset);
	struct link_truth truth;
	bool is_right;

	subject->counts.compared++;
	if (find_link_truth(subject->cfi, abi, address, &truth) ||
	    find_link_truth(subject->debug_cfi, abi, address, &truth)) {
		is_right = is_right_link(abi, row, address, &truth, &subject->counts);
	} else {
		subject->counts.unknown++;
		truth.stop = address + 1;
		is_right = unwind_row_cfa(row) == UNWIND_CFA_GAP || is_signal(row) ||
			   abi->link == UNWIND_LINK_PUSHED; /* from .ARM.exidx */
	}
	if (!is_right && subject->counts.mismatched++ < 10)
		print_error("at 0x%llx: kinds %x, cfa %d, place %d\n", (unsigned long long)address,
			    row->kinds, row->cfa_offset, row->bp_offset);
	return truth.stop;
}

static bool is_equal(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->kinds == b->kinds && a->cfa_offset == b->cfa_offset &&
	       a->bp_offset == b->bp_offset;
}

static uint32_t code_at(const uint8_t *at, bool is_big)
{
	return is_big ? at[3] | (uint32_t)at[2] << 8 | (uint32_t)at[1] << 16 | (uint32_t)at[0] << 24
		      : at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
				(uint32_t)at[3] << 24;
}

/* The plain calls: BL, BLR; bl, bctrl. */
static bool is_call(const struct subject *subject, uint32_t code)
{
	if (subject->full.abi->link == UNWIND_LINK_RECORD)
		return code >> 26 == 0x25 || (code & 0xfffffc1f) == 0xd63f0000;
	return (code & 0xfc000003) == 0x48000001 || code == 0x4e800421;
}

/* The pruned table equals the full one at a call. */
static void compare_call(struct subject *subject, uint64_t offset, const uint8_t *at)
{
	bool is_big = subject->full.abi->link == UNWIND_LINK_FIXED;

	if (subject->full.abi->link == UNWIND_LINK_PUSHED || !is_call(subject, code_at(at, is_big)))
		return;
	subject->calls++;
	subject->stopped_calls +=
		unwind_row_cfa(cfi_table_find(&subject->full, offset + 3)) == UNWIND_CFA_STOP;
	assert_true(is_equal(cfi_table_find(&subject->full, offset + 3),
			     cfi_table_find(&subject->pruned, offset + 3)));
}

/* If an instruction has the same row and the same rules of libdw as the previous one, it needs no
 * new step. */
static void compare_segment(struct subject *subject, const GElf_Phdr *header)
{
	unsigned int step = subject->full.abi->link == UNWIND_LINK_PUSHED ? 2 : 4;
	size_t size;
	const uint8_t *file = (const uint8_t *)elf_rawfile(subject->elf, &size);
	const struct unwind_row *last = NULL;
	uint64_t stop = 0;

	for (uint64_t skip = 0; skip + 4 <= header->p_filesz; skip += step) {
		uint64_t offset = header->p_offset + skip, address = header->p_vaddr + skip;
		const struct unwind_row *row = cfi_table_find(&subject->full, offset);

		if (row != last || address >= stop)
			stop = compare(subject, offset, address);
		else
			subject->counts.compared++;
		last = row;
		compare_call(subject, offset, file + offset);
	}
}

static void print_subject(const struct subject *subject, const char *name)
{
	const struct link_counts *counts = &subject->counts;

	print_message("%s: %zu rows, %zu pruned; %llu comparisons, %llu mismatches, %llu without "
		      "rules, %llu stops, %llu frame pointers given up, %llu calls, %llu of them "
		      "stops\n",
		      name, (size_t)subject->full.rows.count, (size_t)subject->pruned.rows.count,
		      (unsigned long long)counts->compared, (unsigned long long)counts->mismatched,
		      (unsigned long long)counts->unknown, (unsigned long long)counts->stopped,
		      (unsigned long long)counts->lost, (unsigned long long)subject->calls,
		      (unsigned long long)subject->stopped_calls);
}

static void check_subject(struct subject *subject, const char *name)
{
	const struct link_counts *counts = &subject->counts;
	GElf_Phdr header;

	for (int i = 0; gelf_getphdr(subject->elf, i, &header); i++)
		if (header.p_type == PT_LOAD && header.p_flags & PF_X)
			compare_segment(subject, &header);
	if (name || counts->mismatched)
		print_subject(subject, name ? name : "shapes");
	assert_int_equal(counts->mismatched, 0);
	assert_true(counts->compared > counts->unknown);
}

static void add_subject(struct subject *sum, const struct subject *subject)
{
	sum->full.rows.count += subject->full.rows.count;
	sum->pruned.rows.count += subject->pruned.rows.count;
	sum->counts.compared += subject->counts.compared;
	sum->counts.unknown += subject->counts.unknown;
	sum->counts.stopped += subject->counts.stopped;
	sum->counts.lost += subject->counts.lost;
	sum->calls += subject->calls;
	sum->stopped_calls += subject->stopped_calls;
}

static void check_file(const char *path, const char *name, struct subject *sum)
{
	struct subject subject;

	open_subject(&subject, path);
	check_subject(&subject, name);
	if (sum)
		add_subject(sum, &subject);
	close_subject(&subject);
}

/*
 * Shapes.
 */

static const char *const optimisations[] = {
	"-O0",
	"-O1",
	"-O2",
	"-O3",
	"-Os",
	"-O2 -fno-omit-frame-pointer",
	"-O2 -fomit-frame-pointer",
	"-O2 -fstack-protector-all",
	"-O2 -fno-shrink-wrap",
	"-O2 -fpie",
};

/* `extra` contains flags that make the compiler emit the tables that are read. */
static void check_shapes(struct scratch *scratch, const char *compiler, const char *extra)
{
	static const char *const sources[] = {"shapes.c", "shapes.cc"};
	struct subject sum = {0};
	static size_t builds;
	char command[512];

	for (size_t i = 0; i < 2 * sizeof(optimisations) / sizeof(optimisations[0]); i++) {
		if (!sweep_takes(&builds, 7))
			continue;
		snprintf(command, sizeof(command), "%s-%s -shared -fPIC -g %s %s -o shapes",
			 compiler, i % 2 ? "g++" : "gcc", extra, optimisations[i / 2]);
		cross_build(scratch, command, sources[i % 2]);
		check_file(scratch_path(scratch, "shapes"), NULL, &sum);
	}
	snprintf(command, sizeof(command), "%s %s", compiler, extra);
	print_subject(&sum, command);
	assert_int_equal(sum.stopped_calls, 0);
}

static void require_compilers(const char *compiler)
{
	char name[128];

	snprintf(name, sizeof(name), "%s-gcc", compiler);
	cross_require(name);
	snprintf(name, sizeof(name), "%s-g++", compiler);
	cross_require(name);
}

static void test_aarch64(void **state)
{
	require_compilers("aarch64-linux-gnu");
	check_shapes(*state, "aarch64-linux-gnu", "");
	check_shapes(*state, "aarch64-linux-gnu", "-fno-asynchronous-unwind-tables");
}

static void test_powerpc(void **state)
{
	require_compilers("powerpc-linux-gnu");
	check_shapes(*state, "powerpc-linux-gnu", "");
	check_shapes(*state, "powerpc-linux-gnu", "-mlongcall -fno-asynchronous-unwind-tables");
}

/* .debug_frame. test_exidx.c tests .ARM.exidx. */
static void test_arm(void **state)
{
	require_compilers("arm-linux-gnueabihf");
	check_shapes(*state, "arm-linux-gnueabihf", "-mthumb");
	check_shapes(*state, "arm-linux-gnueabihf", "-marm");
}

static void test_arm_soft(void **state)
{
	require_compilers("arm-linux-gnueabi");
	check_shapes(*state, "arm-linux-gnueabi", "-marm");
	check_shapes(*state, "arm-linux-gnueabi", "-mthumb");
}

/*
 * Signed return addresses: the same code with and without the directives for them. libdw reads only
 * the latter.
 */
static void test_signed(void **state)
{
	struct scratch *scratch = *state;
	struct subject with, without;

	require_compilers("aarch64-linux-gnu");
	cross_build(scratch,
		    "aarch64-linux-gnu-gcc -O2 -fPIC -mbranch-protection=standard -S -o with.s",
		    "shapes.c");
	assert_int_equal(scratch_run(scratch, "mark='cfi_negate_ra_state\\|cfi_window_save' && "
					      "grep -q -e \"$mark\" with.s && "
					      "grep -v -e \"$mark\" with.s >without.s && "
					      "aarch64-linux-gnu-gcc -shared -o with with.s && "
					      "aarch64-linux-gnu-gcc -shared -o without without.s"),
			 0);
	open_subject(&without, scratch_path(scratch, "without"));
	check_subject(&without, "without");
	open_subject(&with, scratch_path(scratch, "with"));
	assert_int_equal(with.full.counts.stops[CFI_STOP_PROGRAM], 0);
	assert_int_equal(with.full.rows.count, without.full.rows.count);
	for (size_t i = 0; i < with.full.rows.count; i++) /* the code starts elsewhere */
		assert_true(is_equal(&with.full.rows.items[i], &without.full.rows.items[i]) &&
			    with.full.rows.items[i].offset - with.full.rows.items[0].offset ==
				    without.full.rows.items[i].offset -
					    without.full.rows.items[0].offset);
	close_subject(&with);
	close_subject(&without);
}

/*
 * Libraries.
 */

static void check_library(const char *path)
{
	if (access(path, R_OK)) {
		print_message("[  SKIP   ] no %s\n", path);
		skip();
	}
	check_file(path, path, NULL);
}

static void test_aarch64_libc(void **state)
{
	(void)state;
	check_library("/usr/aarch64-linux-gnu/lib/libc.so.6");
}

static void test_aarch64_libstdcxx(void **state)
{
	(void)state;
	check_library("/usr/aarch64-linux-gnu/lib/libstdc++.so.6");
}

static void test_powerpc_libc(void **state)
{
	(void)state;
	check_library("/usr/powerpc-linux-gnu/lib/libc.so.6");
}

static void test_powerpc_libstdcxx(void **state)
{
	(void)state;
	check_library("/usr/powerpc-linux-gnu/lib/libstdc++.so.6");
}

/* Files named on the command line are compared: tests/unit/symbol/test_cfi_link FILE… */
static int check_files(char **paths)
{
	for (; *paths; paths++)
		check_file(*paths, *paths, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_aarch64, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_powerpc, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_arm, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_arm_soft, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_signed, scratch_setup, scratch_teardown),
		cmocka_unit_test(test_aarch64_libc),
		cmocka_unit_test(test_aarch64_libstdcxx),
		cmocka_unit_test(test_powerpc_libc),
		cmocka_unit_test(test_powerpc_libstdcxx),
	};

	if (argc > 1)
		return check_files(argv + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
