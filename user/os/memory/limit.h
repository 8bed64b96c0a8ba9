/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much memory we may use: the machine's, or the limit of our cgroup or of its ancestors if that
 * is lower. In a container of 8 MiB, a share of the machine's memory would get us killed.
 */
#ifndef MTRACE_OS_MEMORY_LIMIT_H
#define MTRACE_OS_MEMORY_LIMIT_H

#include <stdint.h>

/* In bytes; UINT64_MAX if unknown. */
uint64_t memory_limit(void);
/* The limit, in bytes, that cgroups impose. `text` is the contents of /proc/self/cgroup, and
 * `mounted` is where cgroups are mounted (/sys/fs/cgroup). */
uint64_t memory_limit_of(const char *text, const char *mounted);

/* Memory that is available without swapping: the machine's, or what the limits of cgroups leave. In
 * bytes; UINT64_MAX if unknown. memory_left_of is as memory_limit_of. */
uint64_t memory_left(void);
uint64_t memory_left_of(const char *text, const char *mounted);

#endif
