/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot as metrics for Prometheus: text format 0.0.4, or OpenMetrics 1.0.0. A limited number
 * of processes, and of sites of each process, have series of their own. All others are summed up,
 * so that sums over any label equal those of the report.
 */
#ifndef MTRACE_REPORT_PROMETHEUS_PROMETHEUS_H
#define MTRACE_REPORT_PROMETHEUS_PROMETHEUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/snapshot/snapshot.h"
#include "report/prometheus/options.h"

#define PROMETHEUS_TYPE_TEXT        "text/plain; version=0.0.4; charset=utf-8"
#define PROMETHEUS_TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

/*
 * Series of one process, and of one site, at most; see docs/mtrace-bpf.1. A process has as many
 * rows of sites as are asked for and one for the others; and there are two rows for processes
 * without their own: "other", which run, and "ended".
 */
#define PROMETHEUS_OF_PROCESS 60
#define PROMETHEUS_OF_SITE    9
#define PROMETHEUS_OF_US      13

/* What the snapshot does not know: how the tracer itself does. */
struct prometheus_self {
	bool has_ring;
	uint64_t ring_used_ppm; /* of the ring buffer, at the fullest since the last time */
	uint64_t resident_bytes;
	uint64_t cpu_ns;
};

/* The sites of the snapshot are sorted by SORT_USAGE. 0 or -errno. */
int prometheus_write(const struct snapshot *snapshot, const struct prometheus_options *options,
		     const struct prometheus_self *self, FILE *file);

#endif
