/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the ptrace source needs, and whether this machine has it. */
#ifndef MTRACE_SOURCE_PTRACE_CAPABILITY_H
#define MTRACE_SOURCE_PTRACE_CAPABILITY_H

#include "source/source.h"

/* Returns the number of capabilities stored. */
size_t source_ptrace_capabilities(struct capability ret[CAPABILITY_MAX]);

#endif
