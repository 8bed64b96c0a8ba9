/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a hit of a probe costs here: a child of our own makes calls, with probes and without. */
#ifndef MTRACE_SOURCE_BPF_COST_CALIBRATE_H
#define MTRACE_SOURCE_BPF_COST_CALIBRATE_H

struct loaded_programs;

/* What a hit costs, in nanoseconds. */
struct cost_rates {
	double entry;   /* of a breakpoint at an entry whose instruction needs no single step … */
	double return_; /* … and at a return, both without the BPF program */
	double untold;  /* of the program, for a call that it does not record … */
	double told;    /* … and for one that it records */
};

/* 0 or -errno. The programs' runs are counted while this is called. */
int calibrate(struct loaded_programs *program, struct cost_rates *ret_rates);

#endif
