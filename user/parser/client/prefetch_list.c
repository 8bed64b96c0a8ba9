// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/client/prefetch_list.h"

int prefetch_list_add(struct prefetch_list *list, uint64_t key, bool is_second)
{
	const struct prefetch_entry file = {.is_second = is_second};
	int err = vec_push(&list->files, file);

	return err ? err : map64_set(&list->index_of, key, (uint32_t)list->files.count - 1);
}

struct prefetch_entry *prefetch_list_find(struct prefetch_list *list, uint64_t key)
{
	uint32_t index = map64_get(&list->index_of, key);

	return index == MAP64_NONE ? NULL : &list->files.items[index];
}

void prefetch_list_free(struct prefetch_list *list)
{
	struct prefetch_entry *file;

	vec_each (file, &list->files)
		prefetch_drop(file->answers);
	vec_free(&list->files);
	map64_free(&list->index_of);
}
