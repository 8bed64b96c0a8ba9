/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often a BPF program has run, and for how long, as the kernel counts it. */
#ifndef MTRACE_SOURCE_BPF_COST_READING_H
#define MTRACE_SOURCE_BPF_COST_READING_H

#include <stdint.h>

struct bpf_program;

struct cost_reading {
	uint64_t runs;
	uint64_t ns;
};

/* Adds to *ret_reading what the kernel has counted so far. 0 or -errno. */
int cost_read(const struct bpf_program *program, struct cost_reading *ret_reading);

#endif
