// SPDX-License-Identifier: GPL-2.0-or-later
/* What a stopped i386 function can still read: a file with one function, and one that it calls. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/liveness/liveness.h"
#include "tests/unit/symbol/cfi_file.h"

enum { EBX, EBP, ESI, EDI };

#define CALLEE_AT (CODE_AT + 0x80)

static const struct cie cie = {
	.version = 1,
	.augmentation = "",
	.data_align = -4,
	.return_column = 8,
	.start = PROGRAM("\x0c\x04\x04\x88\x01"), /* CFA = esp + 4, eip at CFA - 4 */
};

/* A function as bytes of code and of CFI. It continues at `at`. */
struct function {
	struct program code;
	struct program cfi;
	uint32_t at;
};

static struct module_liveness *open_file(const struct object *object)
{
	int fd = memfd_create("liveness", MFD_CLOEXEC);
	struct module_liveness *liveness = NULL;
	struct error err;
	int code;

	assert_int_equal(write(fd, object->bytes, FILE_SIZE), FILE_SIZE);
	code = liveness_open(fd, &liveness, &err);
	close(fd);
	if (code == -ENOTSUP)
		skip();
	if (code)
		fail_msg("%s", err.text);
	return liveness;
}

static struct module_liveness *open_function(const struct function *function, bool stripped)
{
	struct object object = {.machine = EM_386, .stripped = stripped, .at = FRAME_AT};

	put_cie(&object, &cie);
	put_fde(&object, &cie, FRAME_AT, CODE_AT, function->code.size, function->cfi);
	put_fde(&object, &cie, FRAME_AT, CALLEE_AT, 1, (struct program){"", 0});
	put(&object, 4, 0);
	finish(&object);
	memcpy(object.bytes + CODE_AT, function->code.bytes, function->code.size);
	object.bytes[CALLEE_AT] = 0xc3;
	return open_file(&object);
}

/*
 *	push ebp; mov ebp,esp; push ebx; sub esp,20; call; mov eax,[ebp-12]; mov esi,0
 *	lea esp,[ebp-4]; pop ebx; pop ebp; ret
 */
static const struct function by_bp = {
	PROGRAM("\x55\x89\xe5\x53\x83\xec\x14\xe8\x74\x00\x00\x00\x8b\x45\xf4\xbe\x00\x00\x00\x00"
		"\x8d\x65\xfc\x5b\x5d\xc3"),
	PROGRAM("\x41\x0e\x08\x85\x02\x42\x0d\x05\x41\x83\x03\x54\xc3\x41\xc5\x0c\x04\x04"),
	12,
};

static void test_frame_by_frame_pointer(void **state)
{
	struct module_liveness *liveness = open_function(&by_bp, false);
	uint64_t at = CODE_AT + by_bp.at;
	struct frame_liveness frame;

	(void)state;
	liveness_frame(liveness, at, false, &frame);
	assert_true(frame.known);
	assert_true(frame.cfa_from_bp);
	assert_int_equal(frame.cfa_offset, 8);
	assert_int_equal(frame.saved[EBP], -8);
	assert_int_equal(frame.saved[EBX], -12);
	assert_int_equal(frame.saved[ESI], 0);
	assert_int_equal(frame.registers[EBX], LIVENESS_DEAD);
	assert_int_equal(frame.registers[ESI], LIVENESS_PASSED); /* by an exception */
	assert_int_equal(frame.registers[EDI], LIVENESS_PASSED);
	assert_int_equal(liveness_slot(liveness, at, false, -4), LIVENESS_READ);
	assert_int_equal(liveness_slot(liveness, at, false, -12), LIVENESS_READ);
	assert_int_equal(liveness_slot(liveness, at, false, -16), LIVENESS_DEAD);
	assert_int_equal(liveness_slot(liveness, at, false, -20), LIVENESS_READ);
	assert_int_equal(liveness_slot(liveness, at, false, -24), LIVENESS_DEAD);
	liveness_close(liveness);
}

static void test_file_without_sections_is_unknown(void **state)
{
	struct module_liveness *liveness = open_function(&by_bp, true);
	struct frame_liveness frame;

	(void)state;
	liveness_frame(liveness, CODE_AT + by_bp.at, false, &frame);
	assert_false(frame.known);
	liveness_close(liveness);
}

/* sub esp,12; call; mov eax,[esp+16]; mov DWORD PTR [esp],0; mov edi,edi; call; add esp,12; ret */
static const struct function by_sp = {
	PROGRAM("\x83\xec\x0c\xe8\x78\x00\x00\x00\x8b\x44\x24\x10\xc7\x04\x24\x00\x00\x00\x00\x89"
		"\xff\xe8\x66\x00\x00\x00\x83\xc4\x0c\xc3"),
	PROGRAM("\x43\x0e\x10\x5a\x0e\x04"),
	8,
};

static void test_frame_by_stack_pointer(void **state)
{
	struct module_liveness *liveness = open_function(&by_sp, false);
	uint64_t at = CODE_AT + by_sp.at;
	struct frame_liveness frame;

	(void)state;
	liveness_frame(liveness, at, false, &frame);
	assert_true(frame.known);
	assert_false(frame.cfa_from_bp);
	assert_int_equal(frame.cfa_offset, 16);
	assert_int_equal(frame.registers[EBX], LIVENESS_READ); /* possibly, by the PLT */
	assert_int_equal(frame.registers[EDI], LIVENESS_READ);
	assert_int_equal(frame.registers[ESI], LIVENESS_PASSED);
	assert_int_equal(liveness_slot(liveness, at, false, 0), LIVENESS_READ);
	assert_int_equal(liveness_slot(liveness, at, false, 4), LIVENESS_DEAD);
	assert_int_equal(liveness_slot(liveness, at, false, -16), LIVENESS_DEAD);
	liveness_close(liveness);
}

/* Changes each byte of the code and of the CFI: nothing hangs or reads outside of the file. */
static void test_damaged_functions_do_not_crash(void **state)
{
	char code[64];

	(void)state;
	for (size_t i = 0; i < by_bp.code.size; i++) {
		struct function damaged = {{code, by_bp.code.size}, by_bp.cfi, by_bp.at};
		struct module_liveness *liveness;
		struct frame_liveness frame;

		memcpy(code, by_bp.code.bytes, by_bp.code.size);
		code[i] = (char)~code[i];
		liveness = open_function(&damaged, false);
		for (uint32_t at = 0; at <= by_bp.code.size; at++) {
			liveness_frame(liveness, CODE_AT + at, at % 2, &frame);
			liveness_slot(liveness, CODE_AT + at, at % 2, -16);
		}
		liveness_close(liveness);
	}
	for (size_t i = 0; i < by_bp.cfi.size; i++) {
		struct function damaged = {by_bp.code, {code, by_bp.cfi.size}, by_bp.at};
		struct module_liveness *liveness;
		struct frame_liveness frame;

		memcpy(code, by_bp.cfi.bytes, by_bp.cfi.size);
		code[i] = (char)~code[i];
		liveness = open_function(&damaged, false);
		liveness_frame(liveness, CODE_AT + by_bp.at, false, &frame);
		liveness_slot(liveness, CODE_AT + by_bp.at, false, -16);
		liveness_close(liveness);
	}
}

static void test_other_machine_is_not_supported(void **state)
{
	struct object object = {.machine = EM_ARM, .at = FRAME_AT};
	int fd = memfd_create("liveness", MFD_CLOEXEC);
	struct module_liveness *liveness;

	(void)state;
	finish(&object);
	assert_int_equal(write(fd, object.bytes, FILE_SIZE), FILE_SIZE);
	assert_int_equal(liveness_open(fd, &liveness, NULL), -ENOTSUP);
	close(fd);
}

static int open_object(const struct object *object)
{
	int fd = memfd_create("liveness", MFD_CLOEXEC);
	struct module_liveness *liveness = NULL;
	int code;

	assert_int_equal(write(fd, object->bytes, FILE_SIZE), FILE_SIZE);
	code = liveness_open(fd, &liveness, NULL);
	liveness_close(liveness);
	close(fd);
	return code;
}

/* The time for reading each of them would grow with the square of the file's size. */
static void test_file_with_overlapping_relocations_is_refused(void **state)
{
	enum { NAMES = 4, SECTIONS = 8 };
	struct object object = {.machine = EM_386, .at = FRAME_AT};
	uint8_t *link;

	(void)state;
	put(&object, 4, 0);
	finish(&object);
	for (size_t i = 0; i < SECTIONS; i++)
		put_section_header(&object, 0, SHT_REL, 0, 0, FILE_SIZE);
	link = object.bytes + SECTION_AT + offsetof(Elf32_Shdr, sh_link);
	for (size_t i = NAMES; i <= NAMES + SECTIONS; i++)
		link[i * sizeof(Elf32_Shdr)] = NAMES;
	object.bytes[offsetof(Elf32_Ehdr, e_shnum)] = NAMES + SECTIONS;
	assert_int_equal(open_object(&object), 0);
	object.bytes[offsetof(Elf32_Ehdr, e_shnum)]++;
	assert_int_equal(open_object(&object), -ENOEXEC);
}

static void test_big_endian_file_is_not_supported(void **state)
{
	struct object object = {.machine = EM_386, .at = FRAME_AT, .big_endian = true};

	(void)state;
	put(&object, 4, 0);
	finish(&object);
	assert_int_equal(open_object(&object), -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_by_frame_pointer),
		cmocka_unit_test(test_file_without_sections_is_unknown),
		cmocka_unit_test(test_frame_by_stack_pointer),
		cmocka_unit_test(test_damaged_functions_do_not_crash),
		cmocka_unit_test(test_other_machine_is_not_supported),
		cmocka_unit_test(test_file_with_overlapping_relocations_is_refused),
		cmocka_unit_test(test_big_endian_file_is_not_supported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
