/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/file/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * File systems whose files the kernel or its drivers write: reading one can block or have side
 * effects (/proc/kmsg), and what it says is not a file's contents.
 */
static bool is_kernel_interface(int fd)
{
	static const unsigned int types[] = {
		PROC_SUPER_MAGIC,
		SYSFS_MAGIC,
		DEBUGFS_MAGIC,
		TRACEFS_MAGIC,
		CGROUP_SUPER_MAGIC,
		CGROUP2_SUPER_MAGIC,
		SECURITYFS_MAGIC,
		BPF_FS_MAGIC,
		DEVPTS_SUPER_MAGIC,
		PSTOREFS_MAGIC,
		EFIVARFS_MAGIC,
		NSFS_MAGIC,
		SELINUX_MAGIC,
		SMACK_MAGIC,
		RDTGROUP_SUPER_MAGIC,
		BINFMTFS_MAGIC,
		0x62656570 /* configfs */,
		0x65735543 /* fusectl */,
	};
	struct statfs system;

	if (fstatfs(fd, &system))
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((unsigned int)system.f_type == types[i])
			return true;
	return false;
}

/*
 * Opens an O_PATH descriptor for reading. The link in /proc leads to the same file, but the root
 * directory may be that of another process, with a /proc of its choice or without one. So what was
 * opened is compared with what was found. Does not wait for a lease (F_SETLEASE).
 */
static int file_reopen(int found, const char *path, const struct stat *seen)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat opened;
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	fd = open(link, flags);
	if (fd < 0 && errno == ENOENT)
		fd = open(path, flags);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &opened) && opened.st_dev == seen->st_dev && opened.st_ino == seen->st_ino)
		return fd;
	close(fd);
	return -ESTALE;
}

int file_open_regular(const char *path, struct stat *ret_stat)
{
	int found = open(path, O_PATH | O_CLOEXEC);
	struct stat stat;
	int fd;

	if (found < 0)
		return -errno;
	if (fstat(found, &stat))
		fd = -errno;
	else if (!S_ISREG(stat.st_mode) || is_kernel_interface(found))
		fd = -EACCES;
	else
		fd = file_reopen(found, path, &stat);
	close(found);
	if (fd >= 0 && ret_stat)
		*ret_stat = stat;
	return fd;
}
