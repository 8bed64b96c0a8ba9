/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of modules: identity, lookups, and invalid files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "symbol/elf/module.h"
#include "symbol/elf/module_read.h"
#include "symbol/elf/module_table.h"
#include "tests/unit/scratch.h"

#define BUILD "printf 'int main(void) { return 0; }' > p.c && gcc p.c "

static struct module_table *new_table(void)
{
	struct module_table *table;

	assert_int_equal(module_table_new(&table), 0);
	return table;
}

static void build(struct scratch *scratch, const char *command)
{
	assert_int_equal(scratch_run(scratch, command), 0);
}

static int open_file(struct scratch *scratch, const char *name)
{
	int fd = open(scratch_path(scratch, name), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static struct module *intern(struct module_table *table, struct scratch *scratch, const char *name)
{
	int fd = open_file(scratch, name);
	struct module *module;
	struct error err;

	if (module_intern(table, fd, scratch_path(scratch, name), &module, &err))
		fail_msg("%s", err.text);
	return module;
}

static void test_module_properties(void **state)
{
	struct module_table *table = new_table();
	struct module *module;

	build(*state, BUILD "-o p -Wl,--build-id=0x00ff1234abcd0001");
	module = intern(table, *state, "p");
	assert_string_equal(module->path, scratch_path(*state, "p"));
	assert_string_equal(module->open_path, module->path);
	assert_string_equal(module->build_id, "00ff1234abcd0001");
	assert_int_equal(module->elf64, sizeof(void *) == 8);
	assert_false(module->big_endian);
	assert_true(module->segment_count >= 2);
	assert_null(module->plan);
	module_table_free(table);
}

static void test_no_build_id(void **state)
{
	struct module_table *table = new_table();

	build(*state, BUILD "-o p -Wl,--build-id=none");
	assert_string_equal(intern(table, *state, "p")->build_id, "");
	build(*state, BUILD "-o long -Wl,--build-id=0x$(printf '%064d' 7)");
	assert_int_equal(strlen(intern(table, *state, "long")->build_id), 40);
	module_table_free(table);
}

static void test_identity(void **state)
{
	struct module_table *table = new_table();
	struct module *one, *other;

	build(*state, BUILD "-o one && cp one other && ln one link");
	one = intern(table, *state, "one");
	assert_ptr_equal(intern(table, *state, "one"), one);
	assert_ptr_equal(intern(table, *state, "link"), one);
	other = intern(table, *state, "other");
	assert_ptr_not_equal(other, one);
	assert_ptr_equal(module_get(table, one->id), one);
	assert_ptr_equal(module_get(table, other->id), other);
	assert_null(module_get(table, 2));
	assert_null(module_get(table, UINT32_MAX));
	module_table_free(table);
}

static void test_find(void **state)
{
	struct module_table *table = new_table();
	struct module *one, *other;

	build(*state, BUILD "-o one && cp one other");
	one = intern(table, *state, "one");
	other = intern(table, *state, "other");
	assert_ptr_equal(module_find(table, one->device, one->inode), one);
	assert_ptr_equal(module_find(table, other->device, other->inode), other);
	assert_null(module_find(table, one->device + 1, one->inode));
	assert_null(module_find(table, one->device, 1));
	module_table_free(table);
}

/* Identifies every second file, starting with the first. */
static int identify(void *ctx, int fd, uint64_t *ret_device, uint64_t *ret_inode)
{
	int *asked = ctx;

	(void)fd;
	if ((*asked)++ % 2)
		return -ENOENT;
	*ret_device = 7;
	*ret_inode = 1000 + (uint64_t)*asked;
	return 0;
}

/* The kernel's identity of a file is used if it is known. The path is kept. */
static void test_kernel_names(void **state)
{
	struct module_table *table = new_table();
	struct module *one, *other;
	struct stat status;
	int asked = 0;

	build(*state, BUILD "-o one && cp one other");
	module_table_set_identifier(table, (struct module_identifier){identify, &asked});
	one = intern(table, *state, "one");
	other = intern(table, *state, "other");
	assert_int_equal(asked, 2);
	assert_ptr_equal(module_find(table, 7, 1001), one);
	assert_string_equal(one->open_path, one->path);
	assert_int_equal(fstat(other->fd, &status), 0);
	assert_ptr_equal(module_find(table, status.st_dev, status.st_ino), other);
	assert_null(module_find(table, 7, 1002));
	module_table_free(table);
}

/* A file that is overwritten in place is another module with the same inode. */
static void test_rewritten_file(void **state)
{
	struct module_table *table = new_table();
	struct module *before, *after;

	build(*state,
	      BUILD "-o p -Wl,--build-id=0x00000001 && gcc p.c -o q -Wl,--build-id=0x00000002");
	before = intern(table, *state, "p");
	build(*state, "cat q > p");
	after = intern(table, *state, "p");
	assert_ptr_not_equal(before, after);
	assert_int_equal(before->inode, after->inode);
	assert_ptr_equal(module_find(table, after->device, after->inode), after);
	module_table_free(table);
}

static int count_and_read(void *ctx, struct module *module, struct error *err)
{
	++*(int *)ctx;
	return module_read(module, err);
}

/* A file counts as unchanged two seconds after its last change (user/symbol/elf/module_table.c). */
static void await_settled(struct scratch *scratch, const char *name)
{
	struct timespec now;
	struct stat status;

	assert_int_equal(stat(scratch_path(scratch, name), &status), 0);
	while (clock_gettime(CLOCK_REALTIME, &now), now.tv_sec <= status.st_ctim.tv_sec + 1)
		usleep(10000);
}

/* A file that has not changed for a while is not read again until it changes. */
static void test_unchanged_file(void **state)
{
	struct module_table *table = new_table();
	struct module *before, *after;
	int reads = 0;

	module_table_set_reader(table, (struct module_reader){count_and_read, &reads});
	build(*state,
	      BUILD "-o p -Wl,--build-id=0x00000001 && gcc p.c -o q -Wl,--build-id=0x00000002");
	before = intern(table, *state, "p");
	assert_ptr_equal(intern(table, *state, "p"), before);
	assert_int_equal(reads, 2); /* it may have changed within the same clock tick */
	await_settled(*state, "p");
	assert_ptr_equal(intern(table, *state, "p"), before);
	assert_int_equal(reads, 3);
	assert_ptr_equal(intern(table, *state, "p"), before);
	assert_int_equal(reads, 3);
	build(*state, "cat q > p");
	after = intern(table, *state, "p");
	assert_int_equal(reads, 4);
	assert_ptr_not_equal(before, after);
	assert_ptr_equal(intern(table, *state, "p"), after);
	module_table_free(table);
}

/* If the file is gone or replaced, it can be opened through our descriptor. */
static void test_open_path(void **state)
{
	struct module_table *table = new_table();
	struct module *module;
	struct error err;
	int fd, again;

	build(*state, BUILD "-o p");
	fd = open_file(*state, "p");
	build(*state, "rm p && printf x > p");
	assert_int_equal(module_intern(table, fd, scratch_path(*state, "p"), &module, &err), 0);
	assert_string_not_equal(module->open_path, module->path);
	again = open(module->open_path, O_RDONLY | O_CLOEXEC);
	assert_true(again >= 0);
	close(again);
	module_table_free(table);
}

static void test_offset_to_vaddr(void **state)
{
	struct module_table *table = new_table();
	struct module *module;
	uint64_t vaddr;

	build(*state, BUILD "-o p");
	module = intern(table, *state, "p");
	for (size_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segments[i];

		assert_int_equal(module_offset_to_vaddr(module, segment->offset, &vaddr), 0);
		assert_int_equal(vaddr, segment->vaddr);
		assert_int_equal(
			module_offset_to_vaddr(module, segment->offset + segment->size - 1, &vaddr),
			0);
		assert_int_equal(vaddr, segment->vaddr + segment->size - 1);
	}
	assert_int_equal(module_offset_to_vaddr(module, UINT64_MAX, &vaddr), -ENOENT);
	assert_int_equal(module_offset_to_vaddr(module, 1u << 30, &vaddr), -ENOENT);
	module_table_free(table);
}

static void check_refused(struct scratch *scratch, const char *name)
{
	struct module_table *table = new_table();
	int fd = open(scratch_path(scratch, name), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct module *module = NULL;
	struct error err = {0};

	assert_true(fd >= 0);
	assert_int_equal(module_intern(table, fd, scratch->path, &module, &err), -ENOEXEC);
	assert_null(module);
	assert_non_null(strstr(err.text, name));
	assert_int_equal(close(fd), 0); /* it is still ours */
	module_table_free(table);
}

static void test_files_that_are_no_modules(void **state)
{
	build(*state, BUILD "-c -o object.o && printf '#!/bin/sh\\n' > script && : > empty && "
			    "mkdir directory && mkfifo fifo && head -c 40 object.o > cut");
	check_refused(*state, "object.o");
	check_refused(*state, "script");
	check_refused(*state, "empty");
	check_refused(*state, "directory");
	check_refused(*state, "fifo");
	check_refused(*state, "cut");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_module_properties), TEST(test_no_build_id),
		TEST(test_identity),          TEST(test_find),
		TEST(test_kernel_names),      TEST(test_open_path),
		TEST(test_rewritten_file),    TEST(test_unchanged_file),
		TEST(test_offset_to_vaddr),   TEST(test_files_that_are_no_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
