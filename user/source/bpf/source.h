/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF source. */
#ifndef MTRACE_SOURCE_BPF_SOURCE_H
#define MTRACE_SOURCE_BPF_SOURCE_H

#include "source/source.h"

/* Its operations: a static table. */
const struct source_ops *source_bpf(void);

#endif
