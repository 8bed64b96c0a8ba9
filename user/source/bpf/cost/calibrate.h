/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a hit of a probe costs here: a child of our own makes calls, with probes and without. */
#ifndef MTRACE_SOURCE_BPF_COST_CALIBRATE_H
#define MTRACE_SOURCE_BPF_COST_CALIBRATE_H

struct loaded_programs;

/* What a hit costs, in nanoseconds: besides the BPF program, where the kernel needs not step over
 * the instruction; and the program, of a call that is not told, and of one that is. */
struct cost_rates {
	double entry;
	double return_;
	double untold;
	double told;
};

/* 0 or -errno. The programs' runs are counted while this is called. */
int calibrate(struct loaded_programs *program, struct cost_rates *ret_rates);

#endif
