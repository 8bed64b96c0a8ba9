/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that are in processes which nobody named, and a process that begins to translate code
 * (translator.h): they are taken out of it before it gets to any, and as they can be taken from one
 * alone neither where children inherit them nor where they are for everybody, from all the others
 * too. What those miss is a gap of theirs.
 */
#ifndef MTRACE_SOURCE_TRACE_TRANSLATED_H
#define MTRACE_SOURCE_TRACE_TRANSLATED_H

#include "source/trace/backend.h"

/* A traced process is a translator's from now on: it loses its probes, and those that have
 * inherited the same ones lose them for a moment. `waits`: it does not run meanwhile. 0 or -ENOMEM.
 */
int translated_leave(struct trace_source *trace, struct traced_process *process, uint64_t since_ns,
		     bool waits);

/* There is a translator, or will be at once: until it ends nothing is probed for everybody. */
void translated_pause(struct trace_source *trace);
/* Has one begun of those that the kernel side counts, has the last one ended? 0 or -ENOMEM. */
int translated_look_after(struct trace_source *trace, uint32_t begun);
/* How long the process has had no probes on that account, if it has none now. */
uint64_t translated_gap_ns(const struct traced_process *process);

#endif
