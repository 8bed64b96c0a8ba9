/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much memory there is for us: that of the machine, or what our cgroup, or one above it, may
 * have. Who takes a share of the machine's memory in a container of 8 MiB is killed.
 */
#ifndef MTRACE_OS_MEMORY_LIMIT_H
#define MTRACE_OS_MEMORY_LIMIT_H

#include <stdint.h>

/* Bytes; UINT64_MAX if nobody can tell. */
uint64_t memory_limit(void);
/* That of cgroups: the text of /proc/self/cgroup, and where they are mounted (/sys/fs/cgroup). */
uint64_t memory_limit_of(const char *text, const char *mounted);

#endif
