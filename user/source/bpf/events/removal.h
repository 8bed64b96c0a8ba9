/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Taking events of tracefs away. The kernel takes some 20 to 100 ms to let go of an event that
 * nobody has open any more, one after the other, and whoever adds one meanwhile waits. So nobody
 * waits for it: a process does it that outlives the tracer, and which for each event takes a lock
 * that those share who place probes. While one of them has it, it stays away.
 */
#ifndef MTRACE_SOURCE_BPF_EVENTS_REMOVAL_H
#define MTRACE_SOURCE_BPF_EVENTS_REMOVAL_H

#include "source/bpf/events/event_types.h"

/* What tracers that were killed have left. */
void removal_of_stale(const struct probe_events *events);
/* What these events are; they are closed. */
void removal_of_all(struct probe_events *events);

#endif
