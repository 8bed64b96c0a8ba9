/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SCOPE_SYSTEM: tracing of all selected processes. */
#ifndef MTRACE_SOURCE_BPF_SYSTEM_H
#define MTRACE_SOURCE_BPF_SYSTEM_H

#include "source/trace/backend.h"

/* Passes the selection of programs to the BPF programs, except for what is in their configuration.
 * Returns 0 or -errno. */
int system_select(struct trace_source *bpf);

/* Probes known libraries in all processes, and adds all running processes. See
 * source_ops.attach_all. */
int system_attach(struct source *source, struct error *err);

#endif
