/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One link for many probes of a file (Linux 6.6: include/uapi/linux/bpf.h, BPF_LINK_CREATE for
 * uprobe_multi). Newer than the headers of the distributions that we build on.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_LINK_H
#define MTRACE_SOURCE_BPF_LOAD_LINK_H

#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ATTACH_UPROBE_MULTI   48
#define ATTACH_UPROBE_SESSION 57 /* Linux 6.13 */
#define UPROBE_MULTI_RETURN   1u

/* The kernel's layout. */
struct link_create_multi {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets; /* `count` of 64 bits */
	uint64_t ref_ctr_offsets;
	uint64_t cookies; /* the same, or 0 */
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid; /* 0: all processes */
	uint32_t pad;
};

/* Returns the descriptor of the link, or -errno. */
static inline int link_multi(const struct link_create_multi *create)
{
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, create, sizeof(*create));

	return fd < 0 ? -errno : fd;
}

#endif
