/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tracing costs the traced programs, measured while it does.
 *
 * The kernel counts how often each of our BPF programs runs, and for how long, while somebody has
 * asked for that (BPF_ENABLE_STATS, Linux 5.8): for all BPF programs of the system, so it is asked
 * for in short windows only. What a hit of a breakpoint costs besides, a child of ours is charged
 * with, once, at the start (calibrate.h). The rest is arithmetic: runs times that, and the time
 * in the programs, of the time that the traced processes had processors for; of all processes,
 * where all have our probes (--system-wide).
 *
 * What is not known, and so counts too much rather than too little: that a program which was
 * preempted did not run meanwhile.
 */
#ifndef MTRACE_SOURCE_BPF_COST_COST_H
#define MTRACE_SOURCE_BPF_COST_COST_H

#include "base/error.h"
#include "source/source.h"

struct trace_source;
struct mtrace_bpf;

/* How often a breakpoint was hit for a program: as often as it ran, or never. */
enum cost_hit {
	COST_NO_HIT, /* of a tracepoint */
	COST_ENTRY,
	COST_RETURN,
	COST_BOTH, /* a session: what was told has returned */
};

/* Whatever can be measured: 0 or -errno with words. */
int bpf_cost_open(struct trace_source *bpf, struct error *err);
void bpf_cost_close(struct trace_source *bpf);
int bpf_cost_begin(struct source *source);
int bpf_cost_end(struct source *source, struct source_cost *ret_cost);

#endif
