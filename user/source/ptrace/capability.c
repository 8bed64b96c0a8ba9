/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks what the ptrace source needs, on a child of our own. */
#include "source/ptrace/capability.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/procfs.h"
#include "source/ptrace/refusal.h"

static void detail_set(struct capability *ret, bool ok, const char *detail, const char *advice)
{
	ret->ok = ok;
	snprintf(ret->detail, sizeof(ret->detail), "%s", detail);
	snprintf(ret->advice, sizeof(ret->advice), "%s", ok ? "" : advice);
}

static pid_t child_new(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	while (getppid() == parent)
		pause();
	_exit(0);
}

/* Rewrites a byte of our own code in the child, which has the same code. */
static int try_memory(pid_t pid)
{
	off_t address = (off_t)(uintptr_t)&try_memory;
	char path[PROCFS_PATH_SIZE], byte;
	int fd, err = 0;

	procfs_path(path, pid, "mem");
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pread(fd, &byte, 1, address) != 1 || pwrite(fd, &byte, 1, address) != 1)
		err = -errno;
	close(fd);
	return err;
}

/* The result of tracing a child: 0 or -errno for each step. */
struct ptrace_trial {
	int seize, write;
};

static struct ptrace_trial try_child(void)
{
	struct ptrace_trial trial = {.seize = -ECHILD, .write = -ECHILD};
	pid_t pid = child_new();

	if (pid < 0)
		return trial;
	trial.seize = ptrace(PTRACE_SEIZE, pid, NULL, NULL) ? -errno : 0;
	if (!trial.seize)
		trial.write = try_memory(pid);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return trial;
}

static void check_yama(struct capability *ret)
{
	static const char *const words[] = {"off", "1: only launched programs", "2: only root",
					    "3: nobody, until the next boot"};
	int scope = yama_scope();

	scope = scope < 0 || scope > 3 ? 3 : scope;
	detail_set(ret, !scope || (!geteuid() && scope < 3), words[scope],
		   "sysctl kernel.yama.ptrace_scope=0 lets you attach without root");
}

size_t source_ptrace_capabilities(struct capability ret[CAPABILITY_MAX])
{
	struct ptrace_trial trial = try_child();

	ret[0] = (struct capability){.name = "ptrace", .needed = true};
	detail_set(&ret[0], !trial.seize,
		   trial.seize ? strerror(-trial.seize) : "tested on a child process",
		   "a container or a seccomp filter may forbid ptrace: allow it there");
	ret[1] = (struct capability){.name = "breakpoints", .needed = true};
	detail_set(&ret[1], !trial.write,
		   trial.write ? strerror(-trial.write)
			       : "code can be written through /proc/PID/mem",
		   "a kernel with CONFIG_PROC_MEM_ALWAYS_FORCE or CONFIG_PROC_MEM_FORCE_PTRACE");
	ret[2] = (struct capability){.name = "Yama"};
	check_yama(&ret[2]);
	return 3;
}
