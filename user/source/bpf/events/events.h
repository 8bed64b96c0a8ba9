/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that children inherit, at no cost for other processes: tracefs events that are opened by
 * perf_event_open with `inherit` for every thread of the process, since any of them may fork. (The
 * perf PMU for uprobes does not support inherit: it makes fork() fail in the target.) The BPF
 * program is attached to the event once; a thread's descriptors only put the breakpoints into its
 * memory.
 *
 * Every new thread gets a copy of each event, so there are few: one per program, with all its
 * places in all files, and one more for each function that is called often. For these the cookie
 * belongs to the event; for the others each place has its own, as an immediate argument. Places in
 * files that are not mapped cost nothing.
 *
 * Two things must be avoided, although the kernel does not refuse them
 * (kernel/trace/trace_uprobe.c; a place of an open event has a consumer that is embedded in it):
 * - A place that is added to an open event is never registered, and crashes the next task that
 *   opens the event. So an event gets no more places once it has been opened; later ones go to a
 *   new event. Places are collected (probe_events_add) until they are needed (probe_events_grant).
 * - An event with several places can be removed while it is open, except for the last place. So an
 *   event is only removed by a process that has it open and is its only user. A BPF program reads
 *   the number of users, since an exiting task keeps what it has inherited until it is gone. A lock
 *   keeps others from opening it in between.
 *
 * Closing an event that has no other users takes the kernel long. So a helper process of ours (the
 * event holder) keeps each event open: closing a thread's descriptors removes its breakpoints at
 * once, and the slow part is left to removal.h.
 */
#ifndef MTRACE_SOURCE_BPF_EVENTS_EVENTS_H
#define MTRACE_SOURCE_BPF_EVENTS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "os/process/probe_closer.h"
#include "source/bpf/events/event_types.h"
#include "source/process/probe_request.h"

/* The events that a process has open, and that its later children have inherited: they must stay
 * open as long as one of these exists. A grant never changes; later events are another grant on top
 * of it. */
struct probe_grant {
	uint32_t users;            /* processes and grants on top */
	struct probe_grant *below; /* or NULL */
	VEC(uint32_t) events;
	VEC(int) fds;
};

/* Also starts to remove events left by killed tracers. Returns 0 or -errno. */
int probe_events_open(struct probe_events *events, struct event_counter counter);

/*
 * Adds places to those that the links want. The request's path must outlive the events. Returns 0
 * or -errno.
 */
int probe_events_add(struct probe_events *events, int program, const struct probe_request *request,
		     bool at_return, struct probe_links *links);

/* Opens what the links want, for all threads of the process. Returns 0 or -errno (-ESRCH if it is
 * gone). */
int probe_events_grant(struct probe_events *events, pid_t pid, struct probe_links *links);

/* Gives a child the links that its parent had open when it forked. */
void probe_grant_inherit(struct probe_links *child, const struct probe_links *parent);
/* Drops a reference. Accepts NULL. */
void probe_grant_drop(struct probe_grant *grant, const struct probe_closer *probe_closer);

/* Drop all grants first. Accepts zeroed memory. */
void probe_events_close(struct probe_events *events);

#endif
