/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Children that will never be reported. A new child stops, and its parent's thread reports what it
 * is. But another thread may end the process first, or call exec. The child then stays stopped
 * forever, with the breakpoints of a memory that is gone. So the breakpoints of recently exited
 * processes are remembered.
 */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_PROCESS_ORPHANS_H
#define MTRACE_SOURCE_PTRACE_TRACER_PROCESS_ORPHANS_H

#include "source/ptrace/tracer/tracer.h"

/* Checks the threads that are not reported yet. Returns true if some must be rechecked. */
bool orphans_check(struct tracer *tracer);

#endif
