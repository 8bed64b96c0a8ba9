/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's list of named probes (tracefs: uprobe_events). Lines with the same name make one
 * event with several places.
 *
 * Sources: Documentation/trace/uprobetracer.rst; kernel/trace/trace_uprobe.c.
 */
#ifndef MTRACE_SOURCE_BPF_EVENTS_TRACEFS_H
#define MTRACE_SOURCE_BPF_EVENTS_TRACEFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define EVENT_NAME_SIZE 64 /* group/event, with its NUL */

/* Returns a descriptor of the root of the file system, or -EOPNOTSUPP. */
int tracefs_open(void);

/* Adds a place to an event, which the first place creates. Either all places of an event have a
 * value, or none has (NULL). Returns 0 or -errno. */
int tracefs_add(int directory, const char *event, const char *path, uint64_t offset, bool at_return,
		const uint64_t *value);

/* Removes an event with all its places. It must not be open (events.h). Returns 0 or -errno. */
int tracefs_remove(int directory, const char *event);

/* Returns the id of the event for perf_event_open, or -errno. */
int tracefs_event_id(int directory, const char *event);

/* Opens the event for a thread and its future children. Returns a descriptor, or -errno. */
int tracefs_event_open(int id, pid_t tid);

/* Calls `tell` with the name of each event, once for each of its places. */
void tracefs_each(int directory, void (*tell)(void *ctx, const char *event), void *ctx);

/* The purpose of a lock: to place probes, or to follow children with them. */
enum tracefs_purpose { TRACEFS_PLACES, TRACEFS_FOLLOWS };

/* Takes a shared or an exclusive lock, until the returned descriptor is closed. Does not wait for
 * an exclusive one: -EWOULDBLOCK. Returns -errno on failure. */
enum tracefs_lock { TRACEFS_SHARED, TRACEFS_ALONE };
int tracefs_lock(int directory, enum tracefs_purpose purpose, enum tracefs_lock lock);

#endif
