/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that only holds events open. It maps the same files as others, and so gets breakpoints,
 * but it calls nothing. */
#ifndef MTRACE_SOURCE_BPF_EVENTS_EVENT_HOLDER_H
#define MTRACE_SOURCE_BPF_EVENTS_EVENT_HOLDER_H

#include <sys/types.h>

struct probe_event_holder {
	pid_t pid;
	int lifeline; /* the process exits when the last copy is closed */
};

/* 0 or -errno. */
int probe_event_holder_start(struct probe_event_holder *ret_event_holder);

#endif
