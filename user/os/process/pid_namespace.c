/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/process/pid_namespace.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_NAMESPACE 0xEFFFFFFC /* PROC_PID_INIT_INO of include/linux/proc_ns.h */
#define PID_TEXT_SIZE   16

/* Our pid according to /proc, or -errno. */
static long pid_in_proc(void)
{
	char text[PID_TEXT_SIZE];
	ssize_t length = readlink("/proc/self", text, sizeof(text) - 1);

	if (length < 0)
		return -errno;
	text[length] = '\0';
	return strtol(text, NULL, 10);
}

int pid_namespace_find(uint32_t *ret_inode, struct error *err)
{
	struct stat status;
	long pid = pid_in_proc();

	/* In a /proc of a pid namespace in which we have no pid, this link does not exist. */
	if (pid < 0 && access("/proc/version", F_OK))
		return error_set(err, -ENOENT, "/proc is not mounted (mount -t proc proc /proc)");
	if (pid != getpid())
		return error_set(err, -EXDEV,
				 "/proc belongs to another pid namespace than mtrace-bpf (use "
				 "unshare --mount-proc, or mount -t proc proc /proc)");
	if (stat("/proc/self/ns/pid", &status))
		return error_set_errno(err, -errno, "cannot read /proc/self/ns/pid");
	*ret_inode = status.st_ino == FIRST_NAMESPACE ? 0 : (uint32_t)status.st_ino;
	return 0;
}
