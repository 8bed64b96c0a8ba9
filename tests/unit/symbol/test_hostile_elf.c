// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Small files that would be expensive to read: one table as many sections, one note in many
 * segments, a function that consists of jumps. The cost must be proportional to the size.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "symbol/elf/module.h"
#include "symbol/elf/module_table.h"
#include "symbol/probe_site/plan.h"

#define CODE_AT    0x1000
#define CODE_SIZE  0x11000
#define SYMBOLS_AT (CODE_AT + CODE_SIZE)
#define SYMBOLS    1000
#define NAMES_AT   (SYMBOLS_AT + SYMBOLS * sizeof(Elf64_Sym))
#define RELA_AT    (NAMES_AT + 64)
#define TABLES_AT  (RELA_AT + 64) /* headers of segments or sections, up to the end */
#define FILE_SIZE  (TABLES_AT + 0x100000)

#define NEW_SIZE  65000
#define HELPER_AT (CODE_AT + 0xfe00)
#define MALLOC_AT (CODE_AT + 0x10c00)

struct file {
	uint8_t *bytes; /* mapped at 0 */
	struct module_table *table;
	struct module *module;
};

static Elf64_Ehdr *elf_header(struct file *file)
{
	return (Elf64_Ehdr *)file->bytes;
}

static void put_header(struct file *file)
{
	Elf64_Phdr *code = (Elf64_Phdr *)(file->bytes + sizeof(Elf64_Ehdr));

	*elf_header(file) = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	*code = (Elf64_Phdr){.p_type = PT_LOAD,
			     .p_flags = PF_R | PF_X,
			     .p_filesz = FILE_SIZE,
			     .p_memsz = FILE_SIZE};
}

static void put_symbols(struct file *file)
{
	static const char names[] = "\0malloc\0_Znwm";
	Elf64_Sym *symbols = (Elf64_Sym *)(file->bytes + SYMBOLS_AT);
	Elf64_Rela *slot = (Elf64_Rela *)(file->bytes + RELA_AT);

	memcpy(file->bytes + NAMES_AT, names, sizeof(names));
	for (int i = 1; i < SYMBOLS; i++)
		symbols[i] = (Elf64_Sym){.st_name = i == 1 ? 1 : 8,
					 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					 .st_shndx = 1,
					 .st_value = i == 1 ? MALLOC_AT : CODE_AT + (i % 200) * 5,
					 .st_size = i == 1 ? 16 : NEW_SIZE};
	slot->r_offset = CODE_AT;
	slot->r_info = ELF64_R_INFO(1, R_X86_64_JUMP_SLOT);
}

/* Sections: names, relocations, and then the same symbols many times. */
static void put_sections(struct file *file, uint16_t count)
{
	Elf64_Shdr *sections = (Elf64_Shdr *)(file->bytes + TABLES_AT);

	elf_header(file)->e_shoff = TABLES_AT;
	elf_header(file)->e_shnum = count;
	sections[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = 64};
	sections[2] = (Elf64_Shdr){.sh_type = SHT_RELA,
				   .sh_offset = RELA_AT,
				   .sh_size = sizeof(Elf64_Rela),
				   .sh_link = 3,
				   .sh_entsize = sizeof(Elf64_Rela)};
	for (uint16_t i = 3; i < count; i++)
		sections[i] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
					   .sh_offset = SYMBOLS_AT,
					   .sh_size = SYMBOLS * sizeof(Elf64_Sym),
					   .sh_link = 1,
					   .sh_entsize = sizeof(Elf64_Sym)};
}

/* A jump or call of five bytes at `at`. */
static void put_transfer(struct file *file, uint8_t opcode, uint32_t at, uint32_t target)
{
	int32_t distance = (int32_t)(target - (at + 5));

	file->bytes[at] = opcode;
	memcpy(file->bytes + at + 1, &distance, sizeof(distance));
}

/* operator new: jumps to a helper that calls something other than a stub. */
static void put_jumps(struct file *file)
{
	for (uint32_t at = CODE_AT; at < HELPER_AT - 5; at += 5)
		put_transfer(file, 0xe9, at, HELPER_AT);
	for (uint32_t at = HELPER_AT; at < HELPER_AT + 512; at += 5)
		put_transfer(file, 0xe8, at, HELPER_AT + 0x400);
	memset(file->bytes + MALLOC_AT, 0x90, 16);
}

static void open_file(struct file *file)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, file->bytes, FILE_SIZE), FILE_SIZE);
	assert_int_equal(module_table_new(&file->table), 0);
	assert_int_equal(module_intern(file->table, fd, "hostile", &file->module, NULL), 0);
}

static int setup(void **state)
{
	struct file *file = calloc(1, sizeof(*file));

	assert_non_null(file);
	file->bytes = calloc(1, FILE_SIZE);
	assert_non_null(file->bytes);
	put_header(file);
	put_symbols(file);
	*state = file;
	return 0;
}

static int teardown(void **state)
{
	struct file *file = *state;

	module_table_free(file->table);
	free(file->bytes);
	free(file);
	return 0;
}

static double seconds_used(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
}

static void test_overlapping_tables(void **state)
{
	struct file *file = *state;
	const struct probe_plan *plan;
	struct error err;

	put_sections(file, 1000);
	open_file(file);
	assert_int_equal(probe_plan_make(file->module, &plan, &err), -ENOEXEC);
	assert_string_equal(err.text, "cannot read the symbols of hostile: its sections overlap");
}

static void test_jumps(void **state)
{
	struct file *file = *state;
	const struct probe_plan *plan;
	double start = seconds_used();

	put_sections(file, 4);
	put_jumps(file);
	open_file(file);
	assert_int_equal(probe_plan_make(file->module, &plan, NULL), 0);
	assert_true(plan->allocator);
	assert_true(seconds_used() - start < 60); /* an hour without a limit */
}

static void put_notes(struct file *file, uint16_t count)
{
	Elf64_Phdr *segments = (Elf64_Phdr *)(file->bytes + TABLES_AT);
	Elf64_Nhdr *note = (Elf64_Nhdr *)(file->bytes + CODE_AT);

	*note = (Elf64_Nhdr){.n_namesz = 4, .n_descsz = 4, .n_type = NT_GNU_BUILD_ID};
	memcpy(note + 1, "GNU\0\x12\x34\x56\x78", 8);
	elf_header(file)->e_phoff = TABLES_AT;
	elf_header(file)->e_phnum = count;
	for (uint16_t i = 0; i < count; i++)
		segments[i] = (Elf64_Phdr){.p_type = PT_NOTE,
					   .p_offset = CODE_AT,
					   .p_filesz = CODE_SIZE - 4 * i,
					   .p_align = 4};
}

/* The build ID is read unless there are too many notes to be plausible. */
static void test_overlapping_notes(void **state)
{
	struct file *file = *state;

	put_notes(file, 2);
	open_file(file);
	assert_string_equal(file->module->build_id, "12345678");
	module_table_free(file->table);
	put_notes(file, 1000);
	open_file(file);
	assert_string_equal(file->module->build_id, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_overlapping_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_jumps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overlapping_notes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
