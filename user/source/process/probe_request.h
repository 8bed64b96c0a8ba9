/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to probe sites of a file, and the links that hold probes in place. */
#ifndef MTRACE_SOURCE_PROCESS_PROBE_REQUEST_H
#define MTRACE_SOURCE_PROCESS_PROBE_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct bpf_link;
struct probe_grant;

/* The purpose of a probe: determines the BPF program, and whether the return is probed. In the
 * order of placement, so that the end of every call seen is also seen. */
enum probe_kind {
	PROBE_EXIT,       /* an exit of calls … */
	PROBE_OPERATOR,   /* (before the calls that it marks) */
	PROBE_EXIT_ENTRY, /* … that have no return probe */
	PROBE_GATE,       /* (bpf/gate.bpf.h) */
	PROBE_CALL,
	PROBE_FREE,
	PROBE_FREE_PLAIN,
	PROBE_LINK_MAP,
	PROBE_THREAD_EXITS,
	PROBE_THROW,
	PROBE_KINDS,
};

struct probe_request {
	enum probe_kind kind;
	pid_t pid; /* 0: all processes */
	const char *path;
	const uint64_t *offsets; /* file offsets */
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
	struct probe_grant *grant; /* the events that are open for it, or NULL */
	VEC(uint32_t) wanted;      /* events to open for it, in this order */
};

#endif
