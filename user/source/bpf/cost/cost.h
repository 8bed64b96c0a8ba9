/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures the cost of tracing for the traced programs.
 *
 * The kernel counts how often and how long each of our BPF programs runs while BPF_ENABLE_STATS
 * (Linux 5.8) is on. That applies to all BPF programs of the system, so it is only enabled in short
 * windows. The additional cost of a breakpoint hit is measured once at startup, with a child
 * (calibrate.h). The rest is arithmetic: the runs times that cost, plus the time in the programs,
 * as a share of the CPU time of the traced processes; of all processes, if all have our probes
 * (--system-wide).
 *
 * The time during which a program was preempted is unknown, so the cost is rather overestimated
 * than underestimated.
 */
#ifndef MTRACE_SOURCE_BPF_COST_COST_H
#define MTRACE_SOURCE_BPF_COST_COST_H

#include "base/error.h"
#include "source/source.h"

struct trace_source;
struct mtrace_bpf;

/* The breakpoint hits of a program: one per run, or none. */
enum cost_hit {
	COST_NO_HIT, /* a tracepoint */
	COST_ENTRY,
	COST_HOOK, /* not the entry of an allocator function; costs the same */
	COST_RETURN,
	COST_BOTH, /* a session: also run at the return of a recorded call */
};

/* Starts measuring. Returns 0 or -errno; sets *err. */
int bpf_cost_open(struct trace_source *bpf, struct error *err);
void bpf_cost_close(struct trace_source *bpf);
int bpf_cost_begin(struct source *source);
int bpf_cost_end(struct source *source, struct source_cost *ret_cost);

#endif
