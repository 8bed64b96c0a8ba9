/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of runs of a BPF program and their total time, as counted by the kernel. */
#ifndef MTRACE_SOURCE_BPF_COST_READING_H
#define MTRACE_SOURCE_BPF_COST_READING_H

#include <stdint.h>

struct bpf_program;

struct cost_reading {
	uint64_t runs;
	uint64_t ns;
};

/* Adds the kernel's counts so far to *ret_reading. Returns 0 or -errno. */
int cost_read(const struct bpf_program *program, struct cost_reading *ret_reading);

#endif
