// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/client/given.h"

int given_add(struct given *given, uint64_t key, bool is_second)
{
	const struct given_file file = {.is_second = is_second};
	int err = vec_push(&given->files, file);

	return err ? err : map64_set(&given->index_of, key, (uint32_t)given->files.count - 1);
}

struct given_file *given_find(struct given *given, uint64_t key)
{
	uint32_t index = map64_get(&given->index_of, key);

	return index == MAP64_NONE ? NULL : &given->files.items[index];
}

void given_free(struct given *given)
{
	struct given_file *file;

	vec_each (file, &given->files)
		early_drop(file->answers);
	vec_free(&given->files);
	map64_free(&given->index_of);
}
