/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Removes tracefs events. The kernel takes 20 to 100 ms to release each event that has no users,
 * one after the other, and blocks anyone who adds events meanwhile. So a process that outlives the
 * tracer does it in the background. For each event it takes a lock exclusively that tracers share
 * while they place probes, and waits while any of them holds it.
 */
#ifndef MTRACE_SOURCE_BPF_EVENTS_REMOVAL_H
#define MTRACE_SOURCE_BPF_EVENTS_REMOVAL_H

#include "source/bpf/events/event_types.h"

/* Removes events left by killed tracers. */
void removal_of_stale(const struct probe_events *events);
/* Closes and removes these events. */
void removal_of_all(struct probe_events *events);

#endif
