/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroup of a process, and the container that its name tells of. No runtime is asked: all of
 * them name the cgroups that they make after their containers.
 */
#ifndef MTRACE_OS_PROCESS_CGROUP_H
#define MTRACE_OS_PROCESS_CGROUP_H

#include <sys/types.h>

struct cgroup {
	char *path;      /* below the root of the hierarchy, with a slash; NULL: the root itself */
	char *container; /* its id (64 hexadecimal digits) or name; NULL if there is none */
};

/* 0 or -errno; -ESRCH if the process is gone. */
int cgroup_read(pid_t pid, struct cgroup *ret_cgroup);
/* The text of /proc/PID/cgroup. 0 or -ENOMEM. */
int cgroup_parse(const char *text, struct cgroup *ret_cgroup);
int cgroup_copy(struct cgroup *copy, const struct cgroup *cgroup); /* 0 or -ENOMEM */
void cgroup_free(struct cgroup *cgroup);

#endif
