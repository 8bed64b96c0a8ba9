/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places and removes the probes of traced processes, for code that does not depend on the backend.
 * The BPF source implements the operations. The ptrace tracer has none, as it places breakpoints in
 * another way: with it, the functions here do nothing.
 */
#ifndef MTRACE_SOURCE_PROCESS_PROBER_H
#define MTRACE_SOURCE_PROCESS_PROBER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/map64.h"
#include "source/process/probe_request.h"

struct prober;

struct prober_ops {
	int (*attach)(struct prober *prober, const struct probe_request *request,
		      struct probe_links *links);
	int (*commit)(struct prober *prober, pid_t pid, struct probe_links *links);
	void (*close)(const struct prober *prober, struct probe_links *links);
	void (*leave)(struct prober *prober, struct probe_links *links);
	void (*inherit)(struct probe_links *child, const struct probe_links *parent);
	/* The leader has exited: from now on, probes in all processes serve this process. Returns 0
	 * or -errno. */
	int (*leader_lost)(const struct prober *prober, pid_t pid);
	/* Ends that. */
	void (*leader_found)(const struct prober *prober, pid_t pid);
};

struct prober {
	const struct prober_ops *ops; /* NULL if the tracer uses ptrace */
	struct map64 allocators;      /* module id → number, from 0 */
	bool everybody;               /* probes are in all processes that map a file */
	uint32_t sample;              /* of heap calls, as in records; 0: not sampled */
};

/* Places probes. Inherited probes are only in place after prober_commit(), which is called once for
 * all files. The request's path must stay valid until then. Returns 0 or -errno. */
static inline int prober_attach(struct prober *prober, const struct probe_request *request,
				struct probe_links *links)
{
	return prober->ops ? prober->ops->attach(prober, request, links) : 0;
}

static inline int prober_commit(struct prober *prober, pid_t pid, struct probe_links *links)
{
	return prober->ops ? prober->ops->commit(prober, pid, links) : 0;
}

static inline void prober_close(const struct prober *prober, struct probe_links *links)
{
	if (prober->ops)
		prober->ops->close(prober, links);
}

/* Closes links whose records are no longer needed. The probes may stay in place until the source is
 * closed. */
static inline void prober_leave(struct prober *prober, struct probe_links *links)
{
	if (prober->ops)
		prober->ops->leave(prober, links);
}

/* Gives a child the links of its parent, if children inherit probes. */
static inline void prober_inherit(const struct prober *prober, struct probe_links *child,
				  const struct probe_links *parent)
{
	if (prober->ops)
		prober->ops->inherit(child, parent);
}

#endif
