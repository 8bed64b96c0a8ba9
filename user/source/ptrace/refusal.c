/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel returns EPERM for many reasons (ptrace(2), "Ptrace access mode checking"). */
#include "source/ptrace/refusal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process/procfs.h"
#include "os/ptrace/tracee.h"

#define YAMA_FILE "/proc/sys/kernel/yama/ptrace_scope"

enum yama { YAMA_OFF, YAMA_DESCENDANTS, YAMA_ADMIN, YAMA_NOBODY };

int yama_scope(void)
{
	FILE *file = fopen(YAMA_FILE, "re");
	int scope = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%d", &scope) != 1)
		scope = 0;
	fclose(file);
	return scope;
}

/* The real user id of a process, or -1. */
static long user_of(pid_t pid)
{
	static const char key[] = "\nUid:";
	const char *found;
	long user = -1;
	char *text;
	size_t size;

	if (procfs_read(pid, "status", &text, &size))
		return -1;
	found = strstr(text, key);
	if (found)
		user = strtol(found + strlen(key), NULL, 10);
	free(text);
	return user;
}

/* Its files in /proc then belong to root. */
static bool is_protected(pid_t pid)
{
	char path[PROCFS_PATH_SIZE];
	struct stat status;

	procfs_path(path, pid, "mem");
	return !stat(path, &status) && !status.st_uid && user_of(pid) != 0;
}

static const char *reason_of(pid_t pid)
{
	int scope = yama_scope();

	if (geteuid() && user_of(pid) != (long)geteuid())
		return "it belongs to another user (needs root, or CAP_SYS_PTRACE)";
	if (is_protected(pid) && geteuid())
		return "it is not dumpable: it changed its user or called prctl (needs root, or "
		       "CAP_SYS_PTRACE)";
	if (scope == YAMA_NOBODY)
		return "kernel.yama.ptrace_scope is 3: nobody may trace until the next boot";
	if (scope == YAMA_ADMIN && geteuid())
		return "kernel.yama.ptrace_scope is 2: needs root, or CAP_SYS_PTRACE";
	if (scope == YAMA_DESCENDANTS && geteuid())
		return "kernel.yama.ptrace_scope is 1: only programs that mtrace-bpf launches may "
		       "be traced (needs root, or CAP_SYS_PTRACE, or sysctl "
		       "kernel.yama.ptrace_scope=0)";
	return "the kernel forbids it (needs CAP_SYS_PTRACE in its user namespace, and no security "
	       "module or seccomp filter may forbid ptrace)";
}

int ptrace_refuse(pid_t pid, int code, struct error *err)
{
	pid_t tracer = tracee_tracer(pid, pid);

	if (code == -ETIMEDOUT)
		return error_set(err, code, "one of its threads is in uninterruptible sleep");
	if (code == -EALREADY)
		return error_set(err, code, "it is already traced, as a child of a traced process");
	if (code != -EPERM && code != -EACCES)
		return error_set(err, code, "%s", strerror(-code));
	if (tracer > 0)
		return error_set(err, code, "process %d already traces it (gdb, strace?)",
				 (int)tracer);
	return error_set(err, code, "%s", reason_of(pid));
}
