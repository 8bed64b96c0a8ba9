/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Children of whom nobody will tell. A new child stops, and its parent's thread is to tell what it
 * is; but another thread may end the process before that, or execute another program. The child
 * then stands for ever, with the breakpoints of a memory that is gone. So what breakpoints those
 * had who ended lately is remembered.
 */
#ifndef MTRACE_SOURCE_PTRACE_GUARDIAN_ORPHANS_H
#define MTRACE_SOURCE_PTRACE_GUARDIAN_ORPHANS_H

#include "source/ptrace/tracer/tracer.h"

/* Look at who came early. Is there anybody to look at again? */
bool orphans_look(struct tracer *tracer);

#endif
