/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/process/mapped_files.h"

#define MAPPINGS 65000

static struct proc_mapping mapping_of(char *path, uint64_t inode)
{
	return (struct proc_mapping){.path = path, .inode = inode, .dev_major = 8};
}

static void one_file_is_one_file_however_often_it_is_mapped(void **state)
{
	struct proc_mapping mapping = mapping_of("/lib/a.so", 7), other = mapping;
	struct mapped_files files = {0};

	(void)state;
	for (uint64_t i = 0; i < MAPPINGS; i++) {
		other.start = i;
		assert_non_null(mapped_files_get(&files, i ? &other : &mapping));
	}
	assert_int_equal(files.items.count, 1);
	assert_ptr_equal(files.items.items[0].mapping, &mapping);
	mapped_files_free(&files);
}

/* A path alone, or device and inode alone (subvolumes of btrfs), do not identify a file. */
static void files_differ_by_each_of_their_names(void **state)
{
	struct proc_mapping mappings[] = {
		mapping_of("/a", 1), mapping_of("/b", 1), mapping_of("/a", 2),
		mapping_of("/a", 1), mapping_of("/a", 1),
	};
	const size_t count = sizeof(mappings) / sizeof(mappings[0]);
	struct mapped_files files = {0};

	(void)state;
	mappings[3].dev_major++;
	mappings[4].dev_minor++;
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < count; i++)
			assert_ptr_equal(mapped_files_get(&files, &mappings[i])->mapping,
					 &mappings[i]);
	assert_int_equal(files.items.count, count);
	mapped_files_free(&files);
}

static void a_file_that_cannot_be_opened_is_tried_a_few_times(void **state)
{
	struct proc_mapping mapping = mapping_of("/gone", 1);
	struct mapped_files files = {0};
	int opens = 0;

	(void)state;
	for (int i = 0; i < MAPPINGS; i++) {
		struct mapped_file *file = mapped_files_get(&files, &mapping);

		if (file->done)
			continue;
		opens++;
		mapped_file_not_opened(file);
	}
	assert_in_range(opens, 2, 10);
	mapped_files_free(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_file_is_one_file_however_often_it_is_mapped),
		cmocka_unit_test(files_differ_by_each_of_their_names),
		cmocka_unit_test(a_file_that_cannot_be_opened_is_tried_a_few_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
