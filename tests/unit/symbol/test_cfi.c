// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The CFI compiler and the unwinder's step compared with libdw, an independent reader of the same
 * CFI.
 *
 * For a range of code, libdw gives the rules as DWARF expressions. They are evaluated on made-up
 * registers and memory, and one step with the compiled row must give the same caller: ip, sp and
 * bp. A row may be STOP only if libdw's rules have a form that rows do not support.
 *
 * Under sanitizers fewer addresses of each file are compared. EXHAUSTIVE=1 compares as many as the
 * plain build does (see sweep.h).
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
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "arch/unwind.h"
#include "cfi_truth.h"
#include "symbol/cfi_table.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sweep.h"

#define SAMPLE  50000 /* the number of compared rows in a file that is too large for all */
#define RANDOM  20000 /* additional addresses */
#define SMALLER 20    /* the factor under sanitizers */

/*
 * The comparison.
 */

struct subject {
	Elf *elf, *debug_elf;
	int fds[2];
	Dwarf_CFI *cfi;       /* of .eh_frame, or NULL */
	Dwarf *dwarf;         /* of the file with .debug_frame, or NULL */
	Dwarf_CFI *debug_cfi; /* the same, owned by `dwarf` */
	struct cfi_table full, pruned;
	GElf_Phdr code[8]; /* executable segments */
	size_t code_count;
	uint64_t compared, unknown, stopped, known_by_code, lost_bp, mismatched;
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
	return unwind_load_bp(NULL, subject->full.abi, frame) == UNWIND_CONTINUE &&
	       truth->bp.known && frame->bp == truth->bp.number;
}

static bool is_right(struct subject *subject, const struct unwind_row *row, uint64_t address,
		     const struct truth *truth)
{
	struct unwind_frame frame = {.ip = address, .sp = SP_INVENTED, .bp = BP_INVENTED};
	enum unwind_result result = unwind_step(NULL, subject->full.abi, row, &frame);

	switch (result) {
	case UNWIND_NO_RULE:
		subject->stopped++;
		return !truth->expressible && !truth->end;
	case UNWIND_END:
		return truth->end;
	case UNWIND_NO_PROGRESS: /* a CFA below the made-up sp: frames of negative size */
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

/* Compares at an address. Returns the end of the range for which libdw's result is valid. */
static uint64_t compare(struct subject *subject, uint64_t offset, uint64_t address)
{
	const struct unwind_row *row = cfi_table_find(&subject->full, offset);
	struct truth truth = {0};
	bool right;

	subject->compared++;
	if (!find_truth(subject->cfi, subject->full.abi, address, &truth) &&
	    !find_truth(subject->debug_cfi, subject->full.abi, address, &truth)) {
		subject->unknown++;
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

/* Compares at the first byte of every row, and of every range of libdw. */
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

/* Our own generator, for the same addresses in every run. */
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

/* The pruned table equals the full one after each call. */
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

/* Opens the reference for a file and for the one with its .debug_frame, which may be the same. */
static void open_subject(struct subject *subject, Elf *elf, Elf *debug)
{
	GElf_Phdr header;

	*subject = (struct subject){.elf = elf, .cfi = dwarf_getcfi_elf(elf)};
	subject->dwarf = dwarf_begin_elf(debug, DWARF_C_READ, NULL);
	subject->debug_cfi = subject->dwarf ? dwarf_getcfi(subject->dwarf) : NULL;
	assert_true(subject->cfi || subject->debug_cfi);
	for (int i = 0; gelf_getphdr(elf, i, &header) && subject->code_count < 8; i++)
		if (header.p_type == PT_LOAD && header.p_flags & PF_X)
			subject->code[subject->code_count++] = header;
}

static void close_subject(struct subject *subject)
{
	cfi_table_free(&subject->full);
	cfi_table_free(&subject->pruned);
	if (subject->cfi)
		dwarf_cfi_end(subject->cfi);
	if (subject->dwarf)
		dwarf_end(subject->dwarf);
}

static void check_order(const struct cfi_table *table)
{
	for (size_t i = 1; i < table->rows.count; i++)
		assert_true(table->rows.items[i].offset > table->rows.items[i - 1].offset);
}

static void check_subject(struct subject *subject, const char *name, bool sampled)
{
	size_t rows = subject->full.rows.count, fewer = sweep_step(SMALLER);

	sampled |= fewer > 1;

	check_order(&subject->full);
	check_order(&subject->pruned);
	compare_rows(subject, sampled ? rows / (SAMPLE / fewer) + 1 : 1);
	compare_random(subject, RANDOM / fewer);
	compare_calls(subject, sampled ? (4 << 20) / fewer : SIZE_MAX);
	print_message("%s: %zu rows, %zu pruned; %llu comparisons, %llu mismatches, %llu gaps, "
		      "%llu stops, "
		      "%llu known by code alone, %llu frame pointers given up\n",
		      name, rows, subject->pruned.rows.count, (unsigned long long)subject->compared,
		      (unsigned long long)subject->mismatched, (unsigned long long)subject->unknown,
		      (unsigned long long)subject->stopped,
		      (unsigned long long)subject->known_by_code,
		      (unsigned long long)subject->lost_bp);
	assert_int_equal(subject->mismatched, 0);
}

static Elf *open_elf(const char *path, int *ret_fd)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret_fd < 0) {
		print_message("[  SKIP   ] no %s\n", path);
		skip();
	}
	elf = elf_begin(*ret_fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(elf);
	return elf;
}

/* Opens a file, and its separate debug file or NULL. */
static void open_files(struct subject *subject, const char *path, const char *debug_path)
{
	int fd, debug_fd = -1;
	Elf *elf = open_elf(path, &fd);
	Elf *debug = debug_path ? open_elf(debug_path, &debug_fd) : NULL;

	open_subject(subject, elf, debug ? debug : elf);
	assert_int_equal(cfi_table_build_split(fd, debug_fd, true, &subject->full, NULL), 0);
	assert_int_equal(cfi_table_build_split(fd, debug_fd, false, &subject->pruned, NULL), 0);
	subject->debug_elf = debug;
	subject->fds[0] = fd;
	subject->fds[1] = debug_fd;
}

static void close_files(struct subject *subject)
{
	close_subject(subject);
	elf_end(subject->debug_elf);
	elf_end(subject->elf);
	for (size_t i = 0; i < 2; i++)
		if (subject->fds[i] >= 0)
			close(subject->fds[i]);
}

static void check_file(const char *path, bool sampled)
{
	struct subject subject;

	open_files(&subject, path, NULL);
	check_subject(&subject, path, sampled);
	close_files(&subject);
}

/* The first file that matches the pattern, or the pattern itself. */
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

/* The vDSO, from memory. */

/* The virtual address of a function in .dynsym; 0 if there is none. */
static uint64_t function_address(Elf *elf, const char *name)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data = elf_getdata(section, NULL);

		gelf_getshdr(section, &header);
		for (int i = 0; (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB) &&
				gelf_getsym(data, i, &symbol);
		     i++)
			if (!strcmp(elf_strptr(elf, header.sh_link, symbol.st_name), name))
				return symbol.st_value;
	}
	return 0;
}

static void check_described(struct subject *subject, const char *name, bool is_described)
{
	uint64_t address = function_address(subject->elf, name);
	uint64_t offset = 0;

	for (size_t i = 0; i < subject->code_count; i++)
		if (address - subject->code[i].p_vaddr < subject->code[i].p_filesz)
			offset = address - subject->code[i].p_vaddr + subject->code[i].p_offset;
	if (!offset)
		fail_msg("no function %s", name);
	if ((unwind_row_cfa(cfi_table_find(&subject->full, offset)) != UNWIND_CFA_GAP) !=
	    is_described)
		fail_msg("%s is %s", name, is_described ? "a gap" : "no gap");
}

static void test_vdso(void **state)
{
	const ElfW(Ehdr) *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct subject subject;
	size_t size;
	Elf *elf;

	(void)state;
	if (!image) {
		print_message("[  SKIP   ] no vdso\n");
		skip();
	}
	elf_version(EV_CURRENT);
	size = image->e_shoff + image->e_shnum * sizeof(ElfW(Shdr));
	elf = elf_memory((char *)image, size);
	assert_non_null(elf);
	open_subject(&subject, elf, elf);
	assert_int_equal(cfi_table_build_image(image, size, true, &subject.full, NULL), 0);
	assert_int_equal(cfi_table_build_image(image, size, false, &subject.pruned, NULL), 0);
	check_subject(&subject, "vdso", false);
	check_described(&subject, "__vdso_clock_gettime", true);
	check_described(&subject, "__vdso_getcpu", true);
	close_subject(&subject);
	elf_end(elf);
}

/*
 * Programs with all or some of their CFI in .debug_frame. With two objects, `sure` is compiled with
 * .eh_frame and `bare` without.
 */

#define BARE "-fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions -g "

static const struct debug_frame_case {
	const char *name;
	const char *build; /* shell commands that make ./p of sure.c and bare.c */
	bool stripped;     /* ./p; ./p.debug has the removed sections */
	bool sure, bare;   /* described? */
} debug_frame_cases[] = {
	{"only .debug_frame", "gcc -O2 -nostdlib " BARE "sure.c bare.c -o p", false, true, true},
	{"both",
	 "gcc -O2 -nostdlib -g -c sure.c && gcc -O2 " BARE "-c bare.c && "
	 "gcc -nostdlib sure.o bare.o -o p",
	 false, true, true},
	{"both for the same code",
	 "gcc -O2 -g -S sure.c && sed -i '"
	 "1i .cfi_sections .eh_frame, .debug_frame' sure.s && gcc -O2 " BARE "-c bare.c && "
	 "gcc -nostdlib sure.s bare.o -o p",
	 false, true, true},
	{"in a C library's start files", "gcc -O2 " BARE "sure.c bare.c -DMAIN -o p", false, true,
	 true},
	{"compressed",
	 "gcc -O2 -nostdlib " BARE "-Wl,--compress-debug-sections=zlib sure.c bare.c "
	 "-o p && readelf -t p | grep -A3 'debug_frame' | grep -q COMPRESSED",
	 false, true, true},
	{"no .debug_frame",
	 "gcc -O2 -nostdlib -c sure.c && gcc -O2 " BARE "-g0 -c bare.c && "
	 "gcc -nostdlib sure.o bare.o -o p",
	 false, true, false},
	{"separate",
	 "gcc -O2 -nostdlib -g -c sure.c && gcc -O2 " BARE "-c bare.c && "
	 "gcc -nostdlib sure.o bare.o -o p",
	 true, true, true},
	{"separate, compressed",
	 "gcc -O2 -nostdlib " BARE "-Wl,--compress-debug-sections=zlib "
	 "sure.c bare.c -o p",
	 true, true, true},
	{"ELF32",
	 "gcc -m32 -O2 -nostdlib -g -c sure.c && gcc -m32 -O2 " BARE "-c bare.c && "
	 "gcc -m32 -nostdlib -Wl,--build-id=none sure.o bare.o -o p",
	 false, true, true},
	{"ELF32, only .debug_frame",
	 "gcc -m32 -fno-pie -no-pie -O2 -nostdlib " BARE "sure.c bare.c -o p", false, true, true},
};

static const char sure_source[] =
	"int bare(int); int sure(int n) { volatile int a[9]; a[n % 9] = n;\n"
	"return bare(n + 1) + a[0]; } void _start_here(void) { sure(1); }\n"
	"#ifdef MAIN\nint main(void) { return sure(3); }\n#endif\n";
static const char bare_source[] = "int bare(int n) { volatile int a[99]; a[n % 99] = n;\n"
				  "return a[1] + (n ? bare(a[2]) + 1 : 0); }\n";

static void strip_program(const struct scratch *scratch)
{
	assert_int_equal(scratch_run(scratch, "objcopy --only-keep-debug p p.debug && "
					      "objcopy --strip-debug p"),
			 0);
}

static void check_debug_frame(struct scratch *scratch, const struct debug_frame_case *test)
{
	struct subject subject;
	char path[PATH_MAX];

	if (scratch_run(scratch, test->build))
		fail_msg("cannot build: %s", test->name);
	if (test->stripped)
		strip_program(scratch);
	snprintf(path, sizeof(path), "%s/p", scratch->root);
	open_files(&subject, path, test->stripped ? scratch_path(scratch, "p.debug") : NULL);
	check_subject(&subject, test->name, false);
	check_described(&subject, "sure", test->sure);
	check_described(&subject, "bare", test->bare);
	close_files(&subject);
}

static void test_debug_frame(void **state)
{
	struct scratch *scratch = *state;

	scratch_write(scratch, "sure.c", sure_source, sizeof(sure_source) - 1, 0644);
	scratch_write(scratch, "bare.c", bare_source, sizeof(bare_source) - 1, 0644);
	for (size_t i = 0; i < sizeof(debug_frame_cases) / sizeof(debug_frame_cases[0]); i++)
		check_debug_frame(scratch, &debug_frame_cases[i]);
}

/* Files named on the command line are compared in full: tests/unit/symbol/test_cfi FILE… */
static int check_files(char **paths)
{
	for (; *paths; paths++)
		check_file(*paths, false);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_libc_32),
		cmocka_unit_test(test_libstdcxx),
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_libcrypto),
		cmocka_unit_test(test_cc1),
		cmocka_unit_test(test_libllvm),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test_setup_teardown(test_debug_frame, scratch_setup, scratch_teardown),
	};

	if (argc > 1)
		return check_files(argv + 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
