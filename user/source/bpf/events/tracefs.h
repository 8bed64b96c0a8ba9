/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's list of probes by name (tracefs: uprobe_events). Lines of one name make one event,
 * with several places.
 *
 * Sources: Documentation/trace/uprobetracer.rst; kernel/trace/trace_uprobe.c.
 */
#ifndef MTRACE_SOURCE_BPF_EVENTS_TRACEFS_H
#define MTRACE_SOURCE_BPF_EVENTS_TRACEFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define EVENT_NAME_SIZE 64 /* group/event, with its NUL */

/* A descriptor of the file system's root, or -EOPNOTSUPP. */
int tracefs_open(void);

/* Add a place to an event; the first one makes it. All of one event have a value or none (NULL)
 * has. 0 or -errno. */
int tracefs_add(int directory, const char *event, const char *path, uint64_t offset, bool at_return,
		const uint64_t *value);

/* Forget the event with all its places. Nobody may have it open (events.h). 0 or -errno. */
int tracefs_remove(int directory, const char *event);

/* What perf_event_open calls the event, or -errno. */
int tracefs_event_id(int directory, const char *event);

/* Open it for a thread and what that gives birth to: a descriptor, or -errno. */
int tracefs_event_open(int id, pid_t tid);

/* Tell the name of each event in turn; of one with several places as often. */
void tracefs_each(int directory, void (*tell)(void *ctx, const char *event), void *ctx);

/* What locks are for: to place probes, or to follow children by them. */
enum tracefs_purpose { TRACEFS_PLACES, TRACEFS_FOLLOWS };

/* Until the descriptor that it returns is closed others may share it, or nobody else has it. Who
 * wants it alone does not wait: -EWOULDBLOCK. Or another -errno. */
enum tracefs_lock { TRACEFS_SHARED, TRACEFS_ALONE };
int tracefs_lock(int directory, enum tracefs_purpose purpose, enum tracefs_lock lock);

#endif
