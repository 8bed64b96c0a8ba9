/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/process/mapped_files.h"

#include <string.h>

#include "base/hash.h"

#define TRIES 3 /* attempts to open a file */

/* Includes the path: subvolumes of btrfs have the same device, and may have the same inodes. */
static uint64_t file_key(const struct proc_mapping *mapping)
{
	uint64_t key = hash_bytes(mapping->path, strlen(mapping->path));

	key = hash_u64(key) ^ ((uint64_t)mapping->dev_major << 32 | mapping->dev_minor);
	return hash_u64(key) ^ mapping->inode;
}

static bool is_same_file(const struct proc_mapping *a, const struct proc_mapping *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && !strcmp(a->path, b->path);
}

struct mapped_file *mapped_files_get(struct mapped_files *files, const struct proc_mapping *mapping)
{
	uint64_t key = file_key(mapping);
	uint32_t index = map64_get(&files->index_of_file, key);

	if (index != MAP64_NONE && is_same_file(files->items.items[index].mapping, mapping))
		return &files->items.items[index];
	index = (uint32_t)files->items.count;
	if (vec_push(&files->items, (struct mapped_file){.mapping = mapping}))
		return NULL;
	if (map64_set(&files->index_of_file, key, index))
		return NULL;
	return &files->items.items[index];
}

void mapped_file_not_opened(struct mapped_file *file)
{
	file->done = ++file->failures == TRIES;
}

void mapped_files_free(struct mapped_files *files)
{
	map64_free(&files->index_of_file);
	vec_free(&files->items);
}
