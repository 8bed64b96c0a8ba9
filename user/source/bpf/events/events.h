/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that children inherit, and nobody else pays for: events of tracefs, opened by
 * perf_event_open with inherit for every thread of the process, since any of them may fork. (The
 * perf PMU for uprobes takes no inherit: its fork() fails in the target.) The BPF program is
 * attached to the event, once: a thread's descriptors do no more than put the breakpoints into its
 * memory.
 *
 * Every thread is born with a copy of each event, so there are few: one for each program, with all
 * its places in all files, and one more for each function that is called often. Of these the cookie
 * comes with the event; each place of the others carries its own, as an argument that is an
 * immediate value. Places where nothing is mapped cost nothing.
 *
 * What the kernel does not refuse, but must not be asked for (kernel/trace/trace_uprobe.c; a place
 * whose event is open has a consumer that lives inside of it):
 * - A place that is added to an event that is open is never registered, and the next one who opens
 *   the event dies of it. So once an event was opened, it gets no more places: what comes later
 *   makes a new one. Places are gathered (probe_events_add) until they are needed
 *   (probe_events_grant).
 * - An event that has several places is removed also while it is open, but for the last of them. So
 *   it is only removed by somebody who has it open and is alone in that: a BPF program reads how
 *   many there are, since a task that is about to end keeps what it has inherited until it is gone.
 *   A lock keeps others from opening it in between.
 *
 * Closing an event that nobody else has open takes the kernel long. So each is kept open for a
 * process of ours that does nothing (the anchor): closing a thread's descriptors takes out its
 * breakpoints at once, and what is slow is left to removal.h.
 */
#ifndef MTRACE_SOURCE_BPF_EVENTS_EVENTS_H
#define MTRACE_SOURCE_BPF_EVENTS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "os/process/heir.h"
#include "source/bpf/events/event_types.h"
#include "source/process/probe_request.h"

/* What one process has open, and its children after that have inherited: as long as one of these is
 * there it must not be closed. It never changes; what is opened later is another one on top. */
struct probe_grant {
	uint32_t users;            /* processes, or grants on top */
	struct probe_grant *below; /* or NULL */
	VEC(uint32_t) events;
	VEC(int) fds;
};

/* Also has what tracers that were killed have left taken away. 0 or -errno. */
int probe_events_open(struct probe_events *events, struct event_counter counter);

/*
 * Let the links want these places; the request's path has to last as long as the events. 0 or
 * -errno.
 */
int probe_events_add(struct probe_events *events, int program, const struct probe_request *request,
		     bool at_return, struct probe_links *links);

/* Open what the links want, for all threads of the process. 0 or -errno (-ESRCH if it is gone). */
int probe_events_grant(struct probe_events *events, pid_t pid, struct probe_links *links);

/* A child's links: what its parent had open when it forked. */
void probe_grant_inherit(struct probe_links *child, const struct probe_links *parent);
/* One user less. NULL is fine. */
void probe_grant_drop(struct probe_grant *grant, const struct heir *heir);

/* All grants have to be dropped before. Zeroed memory is fine. */
void probe_events_close(struct probe_events *events);

#endif
