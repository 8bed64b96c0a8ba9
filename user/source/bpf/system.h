/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SCOPE_SYSTEM: everything that is selected. */
#ifndef MTRACE_SOURCE_BPF_SYSTEM_H
#define MTRACE_SOURCE_BPF_SYSTEM_H

#include "source/trace/backend.h"

/* Tell the kernel side which programs are meant, but for what is in its configuration already. 0 or
 * -errno. */
int system_select(struct trace_source *bpf);

/* Probe what is known, for everybody, and enter all that runs. See source_ops.attach_all. */
int system_attach(struct source *source, struct error *err);

#endif
