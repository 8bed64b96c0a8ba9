/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads /proc/PID/maps and opens the files listed there. See proc(5) and fs/proc/task_mmu.c for the
 * format. */
#include "os/process/maps.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/vec.h"
#include "os/file/regular.h"
#include "os/process/procfs.h"

/*
 * Undoes the kernel's escaping, in place: a newline becomes "\012", and nothing else is escaped. A
 * name that really contains these four characters cannot be distinguished from one with a newline.
 */
static void path_unescape(char *path)
{
	char *out = path;

	while (*path) {
		if (!strncmp(path, "\\012", 4)) {
			*out++ = '\n';
			path += 4;
		} else {
			*out++ = *path++;
		}
	}
	*out = '\0';
}

static int mapping_set_path(struct proc_mapping *mapping, const char *path)
{
	mapping->path = strdup(path);
	if (!mapping->path)
		return -ENOMEM;
	mapping->deleted = procfs_cut_deleted(mapping->path);
	path_unescape(mapping->path);
	return 0;
}

/* Parses "start-end rwxp offset major:minor inode    path". */
static int mapping_parse(const char *line, struct proc_mapping *mapping)
{
	char permissions[5];
	int path;

	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 "%n",
		   &mapping->start, &mapping->end, permissions, &mapping->offset,
		   &mapping->dev_major, &mapping->dev_minor, &mapping->inode, &path) != 7)
		return -EINVAL;
	if (strlen(permissions) != 4 || mapping->end <= mapping->start)
		return -EINVAL;
	mapping->readable = permissions[0] == 'r';
	mapping->writable = permissions[1] == 'w';
	mapping->executable = permissions[2] == 'x';
	mapping->shared = permissions[3] == 's';
	return mapping_set_path(mapping, line + path + strspn(line + path, " "));
}

static int maps_add_line(struct proc_maps *maps, char *line)
{
	struct proc_mapping mapping = {0};
	int err;

	line[strcspn(line, "\n")] = '\0';
	err = mapping_parse(line, &mapping);
	if (err)
		return err;
	err = vec_push(maps, mapping);
	if (err)
		free(mapping.path);
	return err;
}

int proc_maps_parse(FILE *text, struct proc_maps *ret_maps)
{
	struct proc_maps maps = {0};
	char *line = NULL;
	size_t size = 0;
	int err = 0;

	while (!err && (errno = 0, getline(&line, &size, text)) >= 0)
		err = maps_add_line(&maps, line);
	if (!err && ferror(text))
		err = errno ? -errno : -EIO;
	free(line);
	if (err)
		proc_maps_free(&maps);
	else
		*ret_maps = maps;
	return err;
}

int proc_maps_read(pid_t pid, struct proc_maps *ret_maps)
{
	int fd = procfs_open(pid, "maps");
	FILE *text;
	int err;

	if (fd < 0)
		return fd;
	text = fdopen(fd, "r");
	if (!text) {
		close(fd);
		return -ENOMEM;
	}
	err = proc_maps_parse(text, ret_maps);
	fclose(text);
	return err;
}

void proc_maps_free(struct proc_maps *maps)
{
	struct proc_mapping *mapping;

	if (!maps)
		return;
	vec_each (mapping, maps)
		free(mapping->path);
	vec_free(maps);
}

static bool file_is_mapped_one(const struct stat *stat, const struct proc_mapping *mapping)
{
	return major(stat->st_dev) == mapping->dev_major &&
	       minor(stat->st_dev) == mapping->dev_minor && stat->st_ino == mapping->inode;
}

static int open_same(const char *path, const struct proc_mapping *mapping)
{
	struct stat stat;
	int fd = file_open_regular(path, &stat);

	if (fd < 0 || file_is_mapped_one(&stat, mapping))
		return fd;
	close(fd);
	return -ESTALE;
}

/*
 * The link refers to the mapping itself, so there is no need to compare device and inode. A
 * comparison could even fail: on overlayfs and btrfs, stat() returns another device than maps
 * shows. Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
 */
static int open_by_range(pid_t pid, const struct proc_mapping *mapping)
{
	char path[PROCFS_PATH_SIZE];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		 mapping->start, mapping->end);
	return file_open_regular(path, NULL);
}

/*
 * The kernel prints paths relative to our own root if the file is below it (we may be in a chroot),
 * otherwise relative to the root of the target's mount namespace.
 */
static int open_by_path(pid_t pid, const struct proc_mapping *mapping)
{
	char path[PATH_MAX + PROCFS_PATH_SIZE];
	int fd;

	if (mapping->path[0] != '/')
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, mapping->path);
	fd = open_same(path, mapping);
	return fd < 0 ? open_same(mapping->path, mapping) : fd;
}

static int open_link(pid_t pid, const char *link, const struct proc_mapping *mapping)
{
	char path[PROCFS_PATH_SIZE];

	procfs_path(path, pid, link);
	return open_same(path, mapping);
}

/* Finds a file without a name if it is the process's program, or if the process has it open. Anyone
 * who may trace the process may open those links. */
static int open_by_link(pid_t pid, const struct proc_mapping *mapping)
{
	int fd = open_link(pid, "exe", mapping);
	char path[PROCFS_PATH_SIZE], link[32];
	struct dirent *entry;
	DIR *links;

	procfs_path(path, pid, "fd");
	links = fd < 0 ? opendir(path) : NULL;
	if (!links)
		return fd;
	while (fd < 0 && (entry = readdir(links))) {
		snprintf(link, sizeof(link), "fd/%.16s", entry->d_name);
		fd = entry->d_name[0] == '.' ? fd : open_link(pid, link, mapping);
	}
	closedir(links);
	return fd;
}

int proc_open_mapped(pid_t pid, const struct proc_mapping *mapping)
{
	int fd = open_by_range(pid, mapping), linked;

	if (fd < 0)
		fd = open_by_path(pid, mapping);
	linked = fd < 0 && mapping->inode ? open_by_link(pid, mapping) : -ENOENT;
	if (linked >= 0)
		return linked;
	if (fd < 0 && kill(pid, 0) && errno == ESRCH)
		return -ESRCH;
	return fd;
}
