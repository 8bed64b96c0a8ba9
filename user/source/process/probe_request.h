/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which sites of a file shall be probed for whom, and what holds the probes in place. */
#ifndef MTRACE_SOURCE_PROCESS_PROBE_REQUEST_H
#define MTRACE_SOURCE_PROCESS_PROBE_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct bpf_link;
struct probe_grant;

/* What a probe is for: decides the BPF program, and whether the return is watched too. In the order
 * in which they are placed, so that no call is seen to begin whose end is not. */
enum probe_kind {
	PROBE_EXIT,       /* an exit of calls … */
	PROBE_OPERATOR,   /* (before the calls that it marks) */
	PROBE_EXIT_ENTRY, /* … that have no return probe */
	PROBE_CALL,
	PROBE_FREE,
	PROBE_FREE_PLAIN,
	PROBE_LINK_MAP,
	PROBE_THREAD_ENDS,
	PROBE_THROW,
	PROBE_KINDS,
};

struct probe_request {
	enum probe_kind kind;
	pid_t pid; /* 0: for everybody */
	const char *path;
	const uint64_t *offsets; /* in the file */
	const uint64_t *cookies;
	size_t count;
};

/* Attachments of one process: file descriptors of links, or libbpf's own, or events. */
struct probe_links {
	int *fds;
	size_t fd_count, fd_capacity;
	size_t fd_frees; /* how many of the first ones probe frees; they are closed last */
	struct bpf_link **perf;
	size_t perf_count, perf_capacity;
	size_t perf_frees;         /* the same for perf */
	struct probe_grant *grant; /* of events that are open for it, or NULL … */
	VEC(uint32_t) wanted;      /* … and of those that shall be, in the order of opening */
};

#endif
