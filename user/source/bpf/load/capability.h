/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF source needs, and whether this machine has it. */
#ifndef MTRACE_SOURCE_BPF_LOAD_CAPABILITY_H
#define MTRACE_SOURCE_BPF_LOAD_CAPABILITY_H

#include "source/source.h"

/* Returns the number of capabilities stored. */
size_t source_bpf_capabilities(struct capability ret[CAPABILITY_MAX]);

#endif
