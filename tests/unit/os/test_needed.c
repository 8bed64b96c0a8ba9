/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files a program will map: checked on installed programs, on programs that are compiled
 * here, and on invalid files.
 *
 * Under sanitizers a quarter as many files are damaged. EXHAUSTIVE=1 damages all of them (see
 * sweep.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "os/library/elf_dynamic.h"
#include "os/library/needed.h"
#include "tests/unit/scratch.h"
#include "tests/unit/sweep.h"

static char *const no_environment[] = {NULL};

static struct needed find(const char *program, char *const *environment)
{
	struct needed needed;
	struct error err;

	if (needed_find(program, environment, NULL, &needed, &err))
		fail_msg("%s", err.text);
	return needed;
}

static void check_fails(const char *program, int code)
{
	struct needed needed;
	struct error err = {0};

	assert_int_equal(needed_find(program, no_environment, NULL, &needed, &err), code);
	assert_int_equal(err.code, code);
	assert_non_null(strstr(err.text, program));
}

/* The path whose last component starts with `name`, or NULL. */
static const char *path_of(const struct needed *needed, const char *name)
{
	for (size_t i = 0; i < needed->count; i++)
		if (!strncmp(strrchr(needed->paths[i], '/') + 1, name, strlen(name)))
			return needed->paths[i];
	return NULL;
}

static bool has(const struct needed *needed, const char *path)
{
	for (size_t i = 0; i < needed->count; i++)
		if (!strcmp(needed->paths[i], path))
			return true;
	return false;
}

static void check_paths_are_sound(const struct needed *needed)
{
	for (size_t i = 0; i < needed->count; i++) {
		char *real = realpath(needed->paths[i], NULL);

		assert_non_null(real);
		assert_string_equal(real, needed->paths[i]);
		free(real);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(needed->paths[i], needed->paths[j]);
	}
}

/* Compiles in the scratch directory, or skips the test: not every machine has every compiler. */
static void build(struct scratch *scratch, const char *command)
{
	if (scratch_run(scratch, command)) {
		print_message("skipped: cannot run: %s\n", command);
		skip();
	}
}

/* An empty library or program that needs what `flags` say. */
static void build_library(struct scratch *scratch, const char *name, const char *flags)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "gcc -shared -fPIC -o %s -x c /dev/null -x none -Wl,--no-as-needed -L. %s", name,
		 flags);
	build(scratch, command);
}

static void build_program(struct scratch *scratch, const char *name, const char *flags)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "echo 'int main(void){return 0;}' | gcc -o %s -x c - -x none -Wl,--no-as-needed "
		 "-Wl,--allow-shlib-undefined -L. %s",
		 name, flags);
	build(scratch, command);
}

/* "NAME=", the scratch directory's path and the suffix, for an environment. The caller frees it. */
static char *variable(const struct scratch *scratch, const char *name, const char *suffix)
{
	char *text;

	assert_true(asprintf(&text, "%s%s%s", name, scratch->root, suffix) > 0);
	return text;
}

static void test_ls(void **state)
{
	struct needed needed = find("/bin/ls", no_environment);
	char *real = realpath("/bin/ls", NULL);

	(void)state;
	assert_string_equal(needed.paths[0], real);
	assert_non_null(path_of(&needed, "libc.so.6"));
	assert_non_null(path_of(&needed, "ld-linux"));
	assert_non_null(path_of(&needed, "libselinux.so.1"));
	check_paths_are_sound(&needed);
	needed_free(&needed);
	needed_free(&needed);
	free(real);
}

/* The dynamic linker is the reference: ldd's list for this test program, which has many
 * libraries. */
static void test_same_libraries_as_ldd(void **state)
{
	struct needed needed = find("/proc/self/exe", no_environment);
	char command[64], line[PATH_MAX + 64];
	size_t count = 0;
	FILE *file;

	(void)state;
	snprintf(command, sizeof(command), "ldd /proc/%d/exe", (int)getpid());
	file = popen(command, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *path = strchr(line, '/');
		char *real;

		if (!path)
			continue; /* the vDSO */
		path[strcspn(path, " \n")] = '\0';
		real = realpath(path, NULL);
		assert_non_null(real);
		if (!has(&needed, real))
			fail_msg("not found: %s", real);
		free(real);
		count++;
	}
	if (pclose(file) || !count) {
		print_message("skipped: no ldd\n");
		needed_free(&needed);
		skip();
	}
	assert_true(needed.count >= count + 1);
	check_paths_are_sound(&needed);
	needed_free(&needed);
}

static void write_script(struct scratch *scratch, const char *name, const char *text)
{
	scratch_write(scratch, name, text, strlen(text), 0755);
}

static void test_script(void **state)
{
	static const char *const heads[] = {
		"#!/bin/sh\n", "#! \t/bin/sh\t -e -x\n", "#!/bin/sh -",
		"#!/bin/sh",   "#!/bin/sh\nexit\n",
	};
	char *shell = realpath("/bin/sh", NULL);

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct needed needed;

		write_script(*state, "script", heads[i]);
		needed = find(scratch_path(*state, "script"), no_environment);
		assert_string_equal(needed.paths[0], shell);
		assert_non_null(path_of(&needed, "libc.so.6"));
		needed_free(&needed);
	}
	free(shell);
}

static void test_script_of_scripts(void **state)
{
	struct scratch *scratch = *state;
	char text[128];
	struct needed needed;
	char *shell = realpath("/bin/sh", NULL);

	write_script(scratch, "0", "#!/bin/sh\n");
	for (int i = 1; i < 6; i++) {
		char name[2] = {(char)('0' + i), 0};

		snprintf(text, sizeof(text), "#!%s/%d\n", scratch->root, i - 1);
		write_script(scratch, name, text);
	}
	needed = find(scratch_path(scratch, "4"), no_environment);
	assert_string_equal(needed.paths[0], shell);
	needed_free(&needed);
	check_fails(scratch_path(scratch, "5"), -ELOOP);
	snprintf(text, sizeof(text), "#!%s/self\n", scratch->root);
	write_script(scratch, "self", text);
	check_fails(scratch_path(scratch, "self"), -ELOOP);
	free(shell);
}

static void test_files_that_are_not_programs(void **state)
{
	struct scratch *scratch = *state;
	char text[600] = "#!/";

	memset(text + 3, 'x', sizeof(text) - 4);
	check_fails("/no/such/file", -ENOENT);
	check_fails("/", -EACCES);
	write_script(scratch, "f", "");
	check_fails(scratch_path(scratch, "f"), -ENOEXEC);
	write_script(scratch, "f", "echo no shebang\n");
	check_fails(scratch_path(scratch, "f"), -ENOEXEC);
	write_script(scratch, "f", "#!");
	check_fails(scratch_path(scratch, "f"), -ENOEXEC);
	write_script(scratch, "f", "#! \n/bin/sh\n");
	check_fails(scratch_path(scratch, "f"), -ENOEXEC);
	write_script(scratch, "f", text); /* longer than the kernel reads */
	check_fails(scratch_path(scratch, "f"), -ENOEXEC);
	write_script(scratch, "f", "\177ELF");
	check_fails(scratch_path(scratch, "f"), -ENOEXEC);
	write_script(scratch, "f", "\177ELF and then words, words, words");
	check_fails(scratch_path(scratch, "f"), -ENOEXEC);
	/* Opening it would block. */
	assert_int_equal(mkfifo(scratch_path(scratch, "fifo"), 0755), 0);
	check_fails(scratch->path, -EACCES);
}

static void check_only_itself(struct scratch *scratch, const char *name)
{
	struct needed needed = find(scratch_path(scratch, name), no_environment);

	assert_int_equal(needed.count, 1);
	assert_string_equal(needed.paths[0], scratch_path(scratch, name));
	needed_free(&needed);
}

static void test_static(void **state)
{
	build_program(*state, "static", "-static");
	check_only_itself(*state, "static");
}

static void test_static_pie(void **state)
{
	build_program(*state, "static-pie", "-static-pie");
	check_only_itself(*state, "static-pie");
}

static void test_musl(void **state)
{
	struct scratch *scratch = *state;
	char *path = variable(scratch, "LD_LIBRARY_PATH=/nowhere:", "");
	char *environment[] = {path, NULL};
	char *interpreter = realpath("/lib/ld-musl-x86_64.so.1", NULL);
	struct needed needed;

	build(scratch, "musl-gcc -shared -fPIC -o libmine.so -x c /dev/null");
	build(scratch, "echo 'int main(void){return 0;}' | musl-gcc -o program -x c - -x none "
		       "-Wl,--no-as-needed -L. -lmine");
	needed = find(scratch_path(scratch, "program"), environment);
	assert_string_equal(needed.paths[0], scratch->path);
	assert_string_equal(needed.paths[1], interpreter);
	assert_true(has(&needed, scratch_path(scratch, "libmine.so")));
	/* libc.so is the interpreter, and glibc's is not found. */
	assert_int_equal(needed.count, 3);
	needed_free(&needed);
	free(interpreter);
	free(path);
}

static void test_stripped_section_headers(void **state)
{
	struct scratch *scratch = *state;
	struct needed needed;
	Elf64_Ehdr header;
	int fd;

	build_program(scratch, "program", "");
	fd = open(scratch_path(scratch, "program"), O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	header.e_shoff = 0;
	header.e_shnum = header.e_shstrndx = 0;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	close(fd);
	needed = find(scratch->path, no_environment);
	assert_non_null(path_of(&needed, "libc.so.6"));
	needed_free(&needed);
}

/* program → libone (by $ORIGIN) → libtwo (by libone's RUNPATH; RUNPATH is not inherited). */
static void test_runpath_origin(void **state)
{
	struct scratch *scratch = *state;
	struct needed needed;

	assert_int_equal(scratch_run(scratch, "mkdir -p bin lib/deep"), 0);
	build_library(scratch, "lib/deep/libtwo.so", "");
	build_library(scratch, "lib/libone.so",
		      "-Llib/deep -ltwo -Wl,--enable-new-dtags,-rpath,'$ORIGIN/deep'");
	build_program(scratch, "bin/program",
		      "-Llib -lone -Wl,--enable-new-dtags,-rpath,'${ORIGIN}/../lib'");
	needed = find(scratch_path(scratch, "bin/program"), no_environment);
	assert_true(has(&needed, scratch_path(scratch, "lib/libone.so")));
	assert_true(has(&needed, scratch_path(scratch, "lib/deep/libtwo.so")));
	check_paths_are_sound(&needed);
	needed_free(&needed);
	/* $ORIGIN is the directory of the program, not of a link to it. */
	assert_int_equal(scratch_run(scratch, "ln -s bin/program link"), 0);
	needed = find(scratch_path(scratch, "link"), no_environment);
	assert_true(has(&needed, scratch_path(scratch, "lib/libone.so")));
	needed_free(&needed);
}

/* The same tree without libone's RUNPATH: the program's RPATH finds libtwo, its RUNPATH does
 * not. */
static void check_inheritance(struct scratch *scratch, const char *flags, bool inherited)
{
	char all[256];
	struct needed needed;

	snprintf(all, sizeof(all), "-Llib -lone %s,-rpath,'$ORIGIN/lib'", flags);
	build_program(scratch, "program", all);
	needed = find(scratch_path(scratch, "program"), no_environment);
	assert_true(has(&needed, scratch_path(scratch, "lib/libone.so")));
	assert_int_equal(has(&needed, scratch_path(scratch, "lib/libtwo.so")), inherited);
	needed_free(&needed);
}

static void test_rpath_is_inherited(void **state)
{
	struct scratch *scratch = *state;

	assert_int_equal(scratch_run(scratch, "mkdir lib"), 0);
	build_library(scratch, "lib/libtwo.so", "");
	build_library(scratch, "lib/libone.so", "-Llib -ltwo");
	check_inheritance(scratch, "-Wl,--disable-new-dtags", true);
	check_inheritance(scratch, "-Wl,--enable-new-dtags", false);
}

static void test_library_path(void **state)
{
	struct scratch *scratch = *state;
	char *path = variable(scratch, "LD_LIBRARY_PATH=/nowhere::", "/b:/etc");
	char *environment[] = {"HOME=/", path, NULL};
	struct needed needed;

	assert_int_equal(scratch_run(scratch, "mkdir a b"), 0);
	build_library(scratch, "a/libmine.so", "");
	build_library(scratch, "b/libmine.so", "");
	/* It is searched before RUNPATH, and after RPATH. */
	build_program(scratch, "new", "-La -lmine -Wl,--enable-new-dtags,-rpath,'$ORIGIN/a'");
	build_program(scratch, "old", "-La -lmine -Wl,--disable-new-dtags,-rpath,'$ORIGIN/a'");
	needed = find(scratch_path(scratch, "new"), environment);
	assert_true(has(&needed, scratch_path(scratch, "b/libmine.so")));
	assert_false(has(&needed, scratch_path(scratch, "a/libmine.so")));
	needed_free(&needed);
	needed = find(scratch_path(scratch, "old"), environment);
	assert_true(has(&needed, scratch_path(scratch, "a/libmine.so")));
	assert_false(has(&needed, scratch_path(scratch, "b/libmine.so")));
	needed_free(&needed);
	free(path);
}

/* A file with the right name but of another machine is skipped, as by the linker. */
static void test_library_of_another_machine(void **state)
{
	struct scratch *scratch = *state;
	char *path = variable(scratch, "LD_LIBRARY_PATH=", "/bad");
	char *environment[] = {path, NULL};
	struct needed needed;

	assert_int_equal(scratch_run(scratch, "mkdir bad good"), 0);
	build_library(scratch, "good/libmine.so", "");
	build_program(scratch, "program", "-Lgood -lmine -Wl,-rpath,'$ORIGIN/good'");
	/* e_machine is at 18. */
	assert_int_equal(scratch_run(scratch, "cp good/libmine.so bad/ && printf '\\001' | dd "
					      "of=bad/libmine.so bs=1 seek=18 conv=notrunc"),
			 0);
	needed = find(scratch_path(scratch, "program"), environment);
	assert_true(has(&needed, scratch_path(scratch, "good/libmine.so")));
	assert_false(has(&needed, scratch_path(scratch, "bad/libmine.so")));
	needed_free(&needed);
	free(path);
}

static void test_hwcaps_are_all_taken(void **state)
{
	struct scratch *scratch = *state;
	char *path = variable(scratch, "LD_LIBRARY_PATH=", "");
	char *environment[] = {path, NULL};
	struct needed needed;

	assert_int_equal(scratch_run(scratch, "mkdir -p glibc-hwcaps/one glibc-hwcaps/two"), 0);
	build_library(scratch, "libmine.so", "");
	assert_int_equal(
		scratch_run(scratch,
			    "cp libmine.so glibc-hwcaps/one/ && cp libmine.so glibc-hwcaps/two/"),
		0);
	build_program(scratch, "program", "-lmine");
	needed = find(scratch_path(scratch, "program"), environment);
	assert_true(has(&needed, scratch_path(scratch, "libmine.so")));
	assert_true(has(&needed, scratch_path(scratch, "glibc-hwcaps/one/libmine.so")));
	assert_true(has(&needed, scratch_path(scratch, "glibc-hwcaps/two/libmine.so")));
	needed_free(&needed);
	free(path);
}

static void test_preload(void **state)
{
	struct scratch *scratch = *state;
	char *path = variable(scratch, "LD_LIBRARY_PATH=", "");
	char *preload = variable(scratch, "LD_PRELOAD=libm.so.6 ",
				 "/libfirst.so:libsecond.so:/no/such/file");
	char *environment[] = {path, preload, NULL};
	struct needed needed;

	build_library(scratch, "libthird.so", "");
	build_library(scratch, "libfirst.so", "-lthird");
	build_library(scratch, "libsecond.so", "");
	needed = find("/bin/true", environment);
	assert_true(has(&needed, scratch_path(scratch, "libfirst.so")));
	assert_true(has(&needed, scratch_path(scratch, "libsecond.so")));
	assert_true(has(&needed, scratch_path(scratch, "libthird.so")));
	assert_non_null(path_of(&needed, "libm.so.6"));
	check_paths_are_sound(&needed);
	needed_free(&needed);
	free(path);
	free(preload);
}

static void test_missing_library_and_cycle(void **state)
{
	struct scratch *scratch = *state;
	struct needed needed;

	build_library(scratch, "libgone.so", "");
	build_library(scratch, "libb.so", "");
	build_library(scratch, "liba.so", "-lb -lgone");
	build_library(scratch, "libb.so", "-la");
	build_program(scratch, "program", "-la -Wl,--disable-new-dtags,-rpath,'$ORIGIN'");
	assert_int_equal(unlink(scratch_path(scratch, "libgone.so")), 0);
	needed = find(scratch_path(scratch, "program"), no_environment);
	assert_true(has(&needed, scratch_path(scratch, "liba.so")));
	assert_true(has(&needed, scratch_path(scratch, "libb.so")));
	assert_non_null(path_of(&needed, "libc.so.6"));
	check_paths_are_sound(&needed);
	needed_free(&needed);
}

static void test_missing_linker(void **state)
{
	build_program(*state, "program", "-Wl,--dynamic-linker=/no/such/linker");
	check_fails(scratch_path(*state, "program"), -ENOENT);
}

/* A small ELF file for the tests that damage it. The caller frees it. */
static unsigned char *small_elf(struct scratch *scratch, size_t *ret_size)
{
	unsigned char *bytes = malloc(1 << 16);
	int fd;

	build(scratch, "echo 'void _start(void){}' | gcc -nostdlib -o small -x c - -x none "
		       "-Wl,--no-as-needed,-rpath,'$ORIGIN/a:$LIB:/b' -lc -lm");
	fd = open(scratch_path(scratch, "small"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	*ret_size = (size_t)read(fd, bytes, 1 << 16);
	assert_in_range(*ret_size, 1000, (1 << 16) - 1);
	close(fd);
	return bytes;
}

/* Must not crash, and everything that is found must be valid. */
static void try_damaged(struct scratch *scratch, const unsigned char *bytes, size_t size)
{
	struct needed needed;
	struct error err;

	scratch_write(scratch, "damaged", bytes, size, 0755);
	if (needed_find(scratch_path(scratch, "damaged"), no_environment, NULL, &needed, &err))
		return;
	assert_true(needed.count >= 1);
	check_paths_are_sound(&needed);
	needed_free(&needed);
}

static void test_truncated(void **state)
{
	size_t size;
	unsigned char *bytes = small_elf(*state, &size);

	for (size_t length = 0; length < size; length += length < 1024 ? 1 : 97)
		try_damaged(*state, bytes, length);
	free(bytes);
}

static uint32_t random_next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Bytes are flipped anywhere, or where the parser reads. */
static size_t flip_limit(uint32_t round, size_t size)
{
	return round % 3 ? (round % 3 == 1 ? 64 + 13 * 56 : 0x400) : size;
}

static void test_flipped_bytes(void **state)
{
	size_t size;
	unsigned char *bytes = small_elf(*state, &size);
	unsigned char *damaged = malloc(size);
	uint32_t seed = 0x2545f491;
	uint32_t step = (uint32_t)sweep_step(4);

	for (uint32_t round = 0; round < 4000; round += step) {
		memcpy(damaged, bytes, size);
		for (uint32_t flips = 1 + random_next(&seed) % 8; flips; flips--)
			damaged[random_next(&seed) % flip_limit(round, size)] =
				(unsigned char)random_next(&seed);
		try_damaged(*state, damaged, size);
	}
	free(damaged);
	free(bytes);
}

/* Each word of the dynamic section in turn gets values that may overflow. */
static void test_invalid_dynamic_values(void **state)
{
	static const uint64_t silly[] = {
		0, 1, UINT32_MAX, INT64_MAX, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX};
	size_t size;
	unsigned char *bytes = small_elf(*state, &size);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(bytes + header->e_phoff);

	for (int i = 0; i < header->e_phnum; i++) {
		size_t from = segments[i].p_type == PT_DYNAMIC ? segments[i].p_offset : 0;
		size_t to = from + segments[i].p_filesz;

		for (size_t at = from; from && at < to; at += 8)
			for (size_t s = 0; s < sizeof(silly) / sizeof(silly[0]); s++) {
				uint64_t saved;

				memcpy(&saved, bytes + at, 8);
				memcpy(bytes + at, &silly[s], 8);
				try_damaged(*state, bytes, size);
				memcpy(bytes + at, &saved, 8);
			}
	}
	free(bytes);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ls),
		cmocka_unit_test(test_same_libraries_as_ldd),
		WITH_SCRATCH(test_script),
		WITH_SCRATCH(test_script_of_scripts),
		WITH_SCRATCH(test_files_that_are_not_programs),
		WITH_SCRATCH(test_static),
		WITH_SCRATCH(test_static_pie),
		WITH_SCRATCH(test_musl),
		WITH_SCRATCH(test_stripped_section_headers),
		WITH_SCRATCH(test_runpath_origin),
		WITH_SCRATCH(test_rpath_is_inherited),
		WITH_SCRATCH(test_library_path),
		WITH_SCRATCH(test_library_of_another_machine),
		WITH_SCRATCH(test_hwcaps_are_all_taken),
		WITH_SCRATCH(test_preload),
		WITH_SCRATCH(test_missing_library_and_cycle),
		WITH_SCRATCH(test_missing_linker),
		WITH_SCRATCH(test_truncated),
		WITH_SCRATCH(test_flipped_bytes),
		WITH_SCRATCH(test_invalid_dynamic_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
