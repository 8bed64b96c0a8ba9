/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroup of a process, and the container that its name refers to. No container runtime is
 * involved: all of them name the cgroups that they create after their containers.
 */
#ifndef MTRACE_OS_PROCESS_CGROUP_H
#define MTRACE_OS_PROCESS_CGROUP_H

#include <sys/types.h>

struct cgroup {
	char *path;      /* below the root of the hierarchy, starts with a slash; NULL for the root
			    itself */
	char *container; /* id (64 hexadecimal digits) or name of the container, or NULL */
};

/* Returns 0 or -errno; -ESRCH if the process has exited. */
int cgroup_read(pid_t pid, struct cgroup *ret_cgroup);
/* Parses the text of /proc/PID/cgroup. Returns 0 or -ENOMEM. */
int cgroup_parse(const char *text, struct cgroup *ret_cgroup);
int cgroup_copy(struct cgroup *copy, const struct cgroup *cgroup); /* 0 or -ENOMEM */
void cgroup_free(struct cgroup *cgroup);

#endif
