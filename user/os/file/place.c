/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/file/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as in the kernel (MAXSYMLINKS in include/linux/namei.h) */

/* The state of a walk along a path. */
struct walk {
	int directory;
	struct stat directory_stat;
	char *rest; /* components that are not walked yet */
	unsigned int links;
};

static bool is_ours(const struct stat *stat)
{
	return stat->st_uid == 0 || stat->st_uid == geteuid();
}

static bool is_trusted(const struct stat *directory)
{
	return is_ours(directory) && !(directory->st_mode & (S_IWGRP | S_IWOTH));
}

static bool is_in_proc(int fd)
{
	struct statfs status;

	return !fstatfs(fd, &status) && status.f_type == PROC_SUPER_MAGIC;
}

/* Takes ownership of the descriptor. */
static int walk_enter(struct walk *walk, int directory)
{
	if (directory < 0)
		return -errno;
	if (walk->directory >= 0)
		close(walk->directory);
	walk->directory = directory;
	return fstat(directory, &walk->directory_stat) ? -errno : 0;
}

static int walk_begin(struct walk *walk, const char *path)
{
	int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;

	return *path == '/' ? walk_enter(walk, open("/", flags))
			    : walk_enter(walk, open(".", flags));
}

/* Cuts the first component off. The caller frees it. NULL: there is none, or no memory. */
static char *walk_next(struct walk *walk)
{
	char *start = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(start, "/");
	char *name = length ? strndup(start, length) : NULL;

	memmove(walk->rest, start + length, strlen(start + length) + 1);
	return name;
}

/* Continues with the target of a symbolic link, which is open. */
static int walk_link(struct walk *walk, int link)
{
	char target[PATH_MAX], *rest;
	ssize_t length = readlinkat(link, "", target, sizeof(target) - 1);

	if (length < 0)
		return -errno;
	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	target[length] = '\0';
	if (asprintf(&rest, "%s%s", target, walk->rest) < 0)
		return -ENOMEM;
	free(walk->rest);
	walk->rest = rest;
	return *target == '/' ? walk_begin(walk, target) : 0;
}

static int refuse(struct error *err, const char *path, const char *why)
{
	return error_set(err, -EPERM, "cannot write %s: %s", path, why);
}

/* The last component, which exists. */
static int check_found(const struct walk *walk, const struct place *place, const char *path,
		       struct error *err)
{
	if (S_ISDIR(place->stat.st_mode))
		return error_set_errno(err, -EISDIR, "cannot write %s", path);
	if (!is_ours(&place->stat) && !is_trusted(&walk->directory_stat))
		return refuse(err, path,
			      "it belongs to another user, in a directory that others can change");
	if (faccessat(walk->directory, place->name, W_OK, AT_EACCESS))
		return error_set_errno(err, -errno, "cannot write %s", path);
	return 0;
}

/* Returns 1 if the walk is complete, 0 if it continues, or -errno with a message. */
static int walk_on(struct walk *walk, int found, struct place *place, const char *path,
		   struct error *err)
{
	bool is_last = !walk->rest[strspn(walk->rest, "/")];
	int code;

	if (fstat(found, &place->stat))
		return error_set_errno(err, -errno, "cannot write %s", path);
	place->exists = true;
	if (S_ISLNK(place->stat.st_mode)) {
		if (!is_ours(&place->stat) && !is_trusted(&walk->directory_stat))
			return refuse(err, path, "a symbolic link of another user is in the way");
		place->is_open_file = is_last && is_in_proc(found);
		if (place->is_open_file)
			return 1;
		code = is_in_proc(found)
			       ? walk_enter(walk, openat(walk->directory, place->name,
							 O_PATH | O_DIRECTORY | O_CLOEXEC))
			       : walk_link(walk, found);
		return code ? error_set_errno(err, code, "cannot write %s", path) : 0;
	}
	if (is_last) {
		code = check_found(walk, place, path, err);
		return code ? code : 1;
	}
	code = S_ISDIR(place->stat.st_mode) ? walk_enter(walk, fcntl(found, F_DUPFD_CLOEXEC, 0))
					    : -ENOTDIR;
	return code ? error_set_errno(err, code, "cannot write %s", path) : 0;
}

/* Walks one component. Returns 1 if it was the last one, 0, or -errno with a message. */
static int walk_step(struct walk *walk, struct place *place, const char *path, struct error *err)
{
	int found, code;

	free(place->name);
	place->exists = false;
	place->name = walk_next(walk);
	if (!place->name)
		return error_set_errno(err, *path ? -EISDIR : -ENOENT, "cannot write %s", path);
	found = openat(walk->directory, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (found < 0)
		return errno == ENOENT && !*walk->rest
			       ? 1
			       : error_set_errno(err, -errno, "cannot write %s", path);
	code = walk_on(walk, found, place, path, err);
	close(found);
	return code;
}

int place_find(struct place *ret_place, const char *path, struct error *err)
{
	struct walk walk = {.directory = -1, .rest = strdup(path)};
	struct place place = {.directory = -1};
	int code = walk.rest ? walk_begin(&walk, path) : -ENOMEM;

	if (code)
		error_set_errno(err, code, "cannot write %s", path);
	while (!code)
		code = walk_step(&walk, &place, path, err);
	free(walk.rest);
	place.directory = walk.directory;
	if (code < 0) {
		place_free(&place);
		return code;
	}
	*ret_place = place;
	return 0;
}

void place_free(struct place *place)
{
	if (place->directory >= 0)
		close(place->directory);
	free(place->name);
	*place = (struct place){.directory = -1};
}

bool place_is_special(const struct place *place)
{
	return place->exists && (place->is_open_file || !S_ISREG(place->stat.st_mode));
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int place_open(const struct place *place, int flags, mode_t mode)
{
	struct stat now;
	int fd;

	flags |= O_WRONLY | O_NOCTTY | O_CLOEXEC;
	if (place->is_open_file)
		fd = openat(place->directory, place->name, flags | O_APPEND);
	else if (place->exists)
		fd = openat(place->directory, place->name, flags | O_NOFOLLOW);
	else
		fd = openat(place->directory, place->name, flags | O_CREAT | O_EXCL | O_NOFOLLOW,
			    mode);
	if (fd < 0)
		return -errno;
	if (!place->exists || place->is_open_file ||
	    (!fstat(fd, &now) && is_same(&now, &place->stat)))
		return fd;
	close(fd);
	return -ESTALE;
}

int place_remove(const char *path, dev_t device, ino_t inode)
{
	struct place place;
	int code = place_find(&place, path, NULL);
	struct stat created = {.st_dev = device, .st_ino = inode};

	if (code)
		return code == -ENOENT ? 0 : code;
	if (place.exists && is_same(&place.stat, &created) &&
	    unlinkat(place.directory, place.name, 0))
		code = -errno;
	place_free(&place);
	return code;
}
