/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a hit of a probe costs here: a child of our own makes calls, with probes and without. */
#ifndef MTRACE_SOURCE_BPF_COST_CALIBRATE_H
#define MTRACE_SOURCE_BPF_COST_CALIBRATE_H

#include "source/bpf/cost/cost.h"

struct program;

/* 0 or -errno. The programs' runs are counted while this is called. */
int calibrate(struct program *program, struct cost_rates *ret_rates);

#endif
