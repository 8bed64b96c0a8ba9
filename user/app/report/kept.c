/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/report/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int file_remove(const struct kept_file *file)
{
	struct stat now;

	if (lstat(file->path, &now))
		return errno == ENOENT ? 0 : -errno;
	if (now.st_dev != file->device || now.st_ino != file->inode)
		return 0;
	return unlink(file->path) ? -errno : 0;
}

static void forget(struct kept *kept, size_t i)
{
	free(kept->files.items[i].path);
	kept->files.count--;
	memmove(&kept->files.items[i], &kept->files.items[i + 1],
		(kept->files.count - i) * sizeof(*kept->files.items));
}

/* The oldest file of the request, and the number of its files. */
static size_t oldest_of(const struct kept *kept, const void *of, uint32_t *ret_count)
{
	size_t oldest = 0;

	*ret_count = 0;
	for (size_t i = kept->files.count; i-- > 0;) {
		if (kept->files.items[i].of != of)
			continue;
		oldest = i;
		++*ret_count;
	}
	return oldest;
}

/* The file was overwritten, so its earlier entry is obsolete. */
static void forget_path(struct kept *kept, const char *path)
{
	for (size_t i = 0; i < kept->files.count; i++)
		if (!strcmp(kept->files.items[i].path, path)) {
			forget(kept, i);
			return;
		}
}

static int remember(struct kept *kept, const char *path, const void *of, const struct stat *now)
{
	struct kept_file *file;

	if (vec_reserve(&kept->files, kept->files.count + 1))
		return -ENOMEM;
	file = &kept->files.items[kept->files.count];
	*file = (struct kept_file){strdup(path), now->st_dev, now->st_ino, of};
	if (!file->path)
		return -ENOMEM;
	kept->files.count++;
	return 0;
}

int kept_add(struct kept *kept, const char *path, const void *of, uint32_t count)
{
	struct stat now;
	uint32_t there;
	size_t oldest;
	int code;

	forget_path(kept, path);
	if (lstat(path, &now))
		return -errno;
	if (!S_ISREG(now.st_mode))
		return 0;
	code = remember(kept, path, of, &now);
	for (oldest = oldest_of(kept, of, &there); there > count;
	     oldest = oldest_of(kept, of, &there)) {
		int failed = file_remove(&kept->files.items[oldest]);

		code = code ? code : failed;
		forget(kept, oldest);
	}
	return code;
}

void kept_free(struct kept *kept)
{
	struct kept_file *file;

	vec_each (file, &kept->files)
		free(file->path);
	vec_free(&kept->files);
}
