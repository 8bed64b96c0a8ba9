/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/report/retention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "os/file/place.h"

static void forget(struct retention *retention, size_t i)
{
	free(retention->files.items[i].path);
	retention->files.count--;
	memmove(&retention->files.items[i], &retention->files.items[i + 1],
		(retention->files.count - i) * sizeof(*retention->files.items));
}

/* The oldest file of the request, and the number of its files. */
static size_t oldest_of(const struct retention *retention, const void *of, uint32_t *ret_count)
{
	size_t oldest = 0;

	*ret_count = 0;
	for (size_t i = retention->files.count; i-- > 0;) {
		if (retention->files.items[i].of != of)
			continue;
		oldest = i;
		++*ret_count;
	}
	return oldest;
}

/* The file was overwritten, so its earlier entry is obsolete. */
static void forget_path(struct retention *retention, const char *path)
{
	for (size_t i = 0; i < retention->files.count; i++)
		if (!strcmp(retention->files.items[i].path, path)) {
			forget(retention, i);
			return;
		}
}

static int remember(struct retention *retention, const char *path, const void *of,
		    const struct stat *now)
{
	struct retained_file *file;

	if (vec_reserve(&retention->files, retention->files.count + 1))
		return -ENOMEM;
	file = &retention->files.items[retention->files.count];
	*file = (struct retained_file){strdup(path), now->st_dev, now->st_ino, of};
	if (!file->path)
		return -ENOMEM;
	retention->files.count++;
	return 0;
}

int retention_add(struct retention *retention, const char *path, const void *of, uint32_t count)
{
	struct stat now;
	uint32_t there;
	size_t oldest;
	int code;

	forget_path(retention, path);
	if (lstat(path, &now))
		return -errno;
	if (!S_ISREG(now.st_mode))
		return 0;
	code = remember(retention, path, of, &now);
	for (oldest = oldest_of(retention, of, &there); there > count;
	     oldest = oldest_of(retention, of, &there)) {
		const struct retained_file *file = &retention->files.items[oldest];
		int failed = place_remove(file->path, file->device, file->inode);

		code = code ? code : failed;
		forget(retention, oldest);
	}
	return code;
}

void retention_free(struct retention *retention)
{
	struct retained_file *file;

	vec_each (file, &retention->files)
		free(file->path);
	vec_free(&retention->files);
}
