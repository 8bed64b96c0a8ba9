/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that children inherit, and nobody else pays for: each site is an event of tracefs
 * (uprobe_events), opened by perf_event_open with inherit for every thread of the process, since
 * any of them may fork. The BPF program is attached to the event, once: a thread's descriptors do
 * no more than put the breakpoints into its memory. (The perf PMU for uprobes takes no inherit: its
 * fork() fails in the target.)
 *
 * The kernel takes some 100 ms to let go of an event that nobody has open any more, one after the
 * other. So each is kept open for a process of ours that does nothing (the holder): closing a
 * thread's descriptors takes out its breakpoints at once, and what is slow is left to a child that
 * nobody waits for.
 *
 * Sources: Documentation/trace/uprobetracer.rst; kernel/trace/trace_uprobe.c.
 */
#ifndef MTRACE_SOURCE_PROBE_EVENTS_H
#define MTRACE_SOURCE_PROBE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/probe_request.h"

struct probe_event {
	uint64_t device;
	uint64_t inode;
	uint64_t offset;
	int program;
	bool at_return;
	int id;      /* for perf_event_open */
	int perf;    /* for the holder */
	int link;    /* the program's */
	int failure; /* to define or to open it: not tried again */
};

struct probe_events {
	bool open;
	int directory; /* tracefs */
	pid_t holder;
	struct probe_event *items;
	size_t count, capacity;
};

/* Also takes away what tracers that were killed have left. 0 or -errno. */
int probe_events_open(struct probe_events *events);
/* All threads of request->pid. -ESRCH if it is gone. */
int probe_events_attach(struct probe_events *events, int program,
			const struct probe_request *request, bool at_return,
			struct probe_links *links);
/* All links that were made have to be closed before. Zeroed memory is fine. */
void probe_events_close(struct probe_events *events);

#endif
