/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probe events of one tracer, and their places. events.h explains how they work. */
#ifndef MTRACE_SOURCE_BPF_EVENTS_EVENT_TYPES_H
#define MTRACE_SOURCE_BPF_EVENTS_EVENT_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "source/bpf/events/event_holder.h"
#include "source/bpf/events/tracefs.h"

#define EVENT_GROUP_PREFIX "mtrace_bpf_" /* before the event holder's pid */

struct probe_event {
	char name[EVENT_NAME_SIZE];
	int program;
	uint64_t cookie; /* or COOKIE_OF_PLACE */
	bool at_return;
	unsigned int rank; /* order of opening: an entry comes after its return */
	uint32_t place_count;
	bool full; /* takes no more places */
	int id;    /* for perf_event_open */
	int perf;  /* opened for the event holder, or -1 */
	int link;  /* link of the program, or -1 */
};

struct probe_place {
	uint64_t device, inode, offset;
	uint64_t cookie;
	const char *path; /* owned by the request */
	int program;
	uint32_t event;
};

/* Counts how many users have an event open: a BPF program that is run with our descriptor of the
 * event, and its result. */
struct event_counter {
	int program;
	const volatile uint32_t *users;
};

struct probe_events {
	bool open;
	int directory; /* tracefs */
	int placing;   /* the lock, held from the first place to the grant; otherwise -1 */
	int following; /* the lock, held while open; or -errno */
	struct event_counter counter;
	struct probe_event_holder event_holder;
	VEC(struct probe_event) items;
	VEC(struct probe_place) places;
};

#endif
