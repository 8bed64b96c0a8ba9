/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handles a process that becomes a translator (translator.h) while it has probes without being
 * named by the user. Its probes are removed before it translates any code. Inherited probes, and
 * probes in all processes, cannot be removed from a single process, so they are removed from all
 * others as well. What those miss is counted as a gap.
 */
#ifndef MTRACE_SOURCE_TRACE_TRANSLATED_H
#define MTRACE_SOURCE_TRACE_TRANSLATED_H

#include "source/trace/backend.h"

/* A traced process has become a translator: it loses its probes, and processes that inherited the
 * same ones lose them for a moment. `waits`: it is paused meanwhile. Returns 0 or -ENOMEM. */
int translated_leave(struct trace_source *trace, struct traced_process *process, uint64_t since_ns,
		     bool waits);

/* A translator is running or starting: there are no probes in all processes until it exits. */
void translated_pause(struct trace_source *trace);
/* Checks if another translator has started (the BPF programs count them), or if the last one has
 * exited. Returns 0 or -ENOMEM. */
int translated_check(struct trace_source *trace, uint32_t begun);
/* How long the process has been without probes for this reason; 0 if it has them. */
uint64_t translated_gap_ns(const struct traced_process *process);

#endif
