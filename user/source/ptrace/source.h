/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ptrace source. */
#ifndef MTRACE_SOURCE_PTRACE_SOURCE_H
#define MTRACE_SOURCE_PTRACE_SOURCE_H

#include "source/source.h"

/* Its operations: a static table. */
const struct source_ops *source_ptrace(void);

#endif
