/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do our breakpoints still stand? A uprobe that somebody places where one of them is takes its
 * hits: the kernel asks its own first, and the byte looks the same. When the uprobe goes, the
 * original code comes back, and ours is gone. Nothing tells of either; so it is looked for, and the
 * time for which calls may be missing is a gap.
 */
#ifndef MTRACE_SOURCE_PTRACE_BREAKPOINT_STANDS_H
#define MTRACE_SOURCE_PTRACE_BREAKPOINT_STANDS_H

#include "source/ptrace/tracer/tracer.h"

/* Of a process that is traced from now on. */
void stands_begin(struct owner *owner);
/* One of its breakpoints was met. */
void stands_met(struct owner *owner);
/* Now and then: put back what was taken out, and count the gap. */
void stands_look(struct tracer *tracer);
/* Now, since somebody asks what is missing: it may be for the last time. */
void stands_look_once(const struct tracer *tracer, struct owner *owner);
/* The gap of a process up to now, in which the uprobes still are. */
uint64_t stands_gap_ns(const struct owner *owner);

#endif
