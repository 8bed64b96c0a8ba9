/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/trace/target.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/process/pid_namespace.h"
#include "os/process/proc.h"

/* A process can set its comm to anything. */
static void name_sanitize(char *name)
{
	for (; *name; name++)
		if (iscntrl((unsigned char)*name))
			*name = '?';
}

void target_name(const char *path, char ret_name[32])
{
	const char *slash = strrchr(path, '/');

	snprintf(ret_name, 32, "%s", slash && slash[1] ? slash + 1 : path);
	name_sanitize(ret_name);
}

static int info_check(const struct proc_info *info, pid_t pid, struct error *err)
{
	if (info->tgid != pid)
		return error_set(err, -EINVAL, "it is a thread of process %d; use -p %d",
				 (int)info->tgid, (int)info->tgid);
	if (pid == getpid())
		return error_set(err, -EINVAL, "that is mtrace-bpf itself");
	if (info->kernel_thread)
		return error_set(err, -EINVAL, "it is a kernel thread");
	if ((info->state == 'Z' || info->state == 'X') && !proc_living_thread(pid))
		return error_set(err, -ESRCH, "it has already exited (zombie)");
	return 0;
}

int target_check(pid_t pid, struct target *ret_target, struct error *err)
{
	struct proc_info info = {0};
	uint32_t namespace;
	int code = pid_namespace_find(&namespace, err);

	if (code)
		return code;
	code = proc_info_read(pid, &info);
	if (code == -ESRCH || code == -ENOENT)
		return error_set(err, code, "no such process");
	if (code)
		return error_set_errno(err, code, "cannot read /proc/%d", (int)pid);
	code = info_check(&info, pid, err);
	if (!code) {
		ret_target->pid = pid;
		target_name(info.comm, ret_target->name);
	}
	proc_info_free(&info);
	return code;
}
