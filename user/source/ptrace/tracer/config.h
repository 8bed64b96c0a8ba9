/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration of the tracer process: does not change after its start. */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_CONFIG_H
#define MTRACE_SOURCE_PTRACE_TRACER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "source/alloc_filter.h"

struct tracer_process_config {
	uint32_t depth;                   /* frames, 0 for none */
	bool by_tables;                   /* otherwise by frame pointers */
	bool sanity;                      /* as in struct source_config */
	struct alloc_filter alloc_filter; /* as in struct source_config */
	bool follows;                     /* children are traced */
	bool holds_exits;                 /* as in struct source_config */
};

#endif
