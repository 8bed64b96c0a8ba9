/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks that our breakpoints are still in place. A uprobe that another tool places at one of them
 * takes its hits: the kernel checks its own first, and the byte looks the same. When the uprobe is
 * removed, the original code comes back, and our breakpoint is gone. Nothing reports either event,
 * so check for them, and count the time during which calls may be missed as a gap.
 */
#ifndef MTRACE_SOURCE_PTRACE_BREAKPOINT_FOREIGN_UPROBES_H
#define MTRACE_SOURCE_PTRACE_BREAKPOINT_FOREIGN_UPROBES_H

#include "source/ptrace/tracer/tracer.h"

/* Starts the checks of a process. */
void foreign_uprobes_start(struct owner *owner);
/* One of its breakpoints was hit. */
void foreign_uprobes_hit(struct owner *owner);
/* Call regularly: restores removed breakpoints, and counts the gap. */
void foreign_uprobes_check(struct tracer *tracer);
/* Checks now, because the losses are requested, possibly for the last time. */
void foreign_uprobes_check_now(const struct tracer *tracer, struct owner *owner);
/* The current gap of a process while foreign uprobes are present. */
uint64_t foreign_uprobes_gap_ns(const struct owner *owner);

#endif
