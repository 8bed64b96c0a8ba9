/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/exec/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include "os/library/string_list.h"

int exec_marks_try(void)
{
	int fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN_EXEC_PERM, AT_FDCWD, "/proc/self/exe"))
		err = -errno;
	close(fd);
	return err;
}

/* The server of these file systems may not answer, or may itself be held by us. */
static bool can_block(const char *type)
{
	static const char *const types[] = {"autofs", "nfs", "nfs4", "cifs", "smb3", "ceph", "afs"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(type, types[i]))
			return true;
	return !strncmp(type, "fuse", 4);
}

static int mark(int fanotify, const char *path)
{
	return fanotify_mark(fanotify, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN_EXEC_PERM,
			     AT_FDCWD, path)
		       ? -errno
		       : 0;
}

/* Returns true if the path leads through one of the `blocking` mounts. */
static bool is_below(const struct string_list *blocking, const char *path)
{
	for (size_t i = 0; i < blocking->count; i++) {
		size_t length = strlen(blocking->items[i]);

		if (!strncmp(path, blocking->items[i], length) && path[length] == '/')
			return true;
	}
	return false;
}

/* Ignores file systems that cannot be marked: those are internal to the kernel, and nothing is
 * executed from them. */
static int mark_all(int fanotify, FILE *mounts)
{
	struct string_list blocking = {0};
	struct mntent *entry;
	int err = 0;

	while (!err && (entry = getmntent(mounts))) {
		if (can_block(entry->mnt_type))
			err = string_list_add(&blocking, entry->mnt_dir);
		else if (!is_below(&blocking, entry->mnt_dir))
			(void)mark(fanotify, entry->mnt_dir);
	}
	string_list_free(&blocking);
	return err;
}

int exec_marks_place(int fanotify)
{
	FILE *mounts;
	int err = mark(fanotify, "/");

	if (err)
		return err;
	mounts = setmntent("/proc/self/mounts", "re");
	if (!mounts)
		return -errno;
	err = mark_all(fanotify, mounts);
	endmntent(mounts);
	return err;
}
