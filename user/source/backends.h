/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The backends that trace processes. */
#ifndef MTRACE_SOURCE_BACKENDS_H
#define MTRACE_SOURCE_BACKENDS_H

#include "source/source.h"

/* The operations of BACKEND_BPF or BACKEND_PTRACE. */
const struct source_ops *source_backend(enum backend backend);

/* What BACKEND_BPF or BACKEND_PTRACE needs, and whether this machine has it. Returns the number of
 * capabilities. */
size_t source_capabilities(enum backend backend, struct capability ret[CAPABILITY_MAX]);

#endif
