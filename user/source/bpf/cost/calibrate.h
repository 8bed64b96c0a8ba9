/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the cost of a probe hit: a child of our own makes calls, with and without probes. */
#ifndef MTRACE_SOURCE_BPF_COST_CALIBRATE_H
#define MTRACE_SOURCE_BPF_COST_CALIBRATE_H

struct loaded_programs;

/* The cost of a hit, in nanoseconds. */
struct cost_rates {
	double entry;     /* a breakpoint at an entry with an emulated instruction … */
	double return_;   /* … and at a return, both without the BPF program */
	double unsampled; /* the program, for a call that it does not record … */
	double recorded;  /* … and for one that it records */
};

/* Returns 0 or -errno. The caller must have enabled the statistics of BPF programs. */
int calibrate(struct loaded_programs *program, struct cost_rates *ret_rates);

#endif
