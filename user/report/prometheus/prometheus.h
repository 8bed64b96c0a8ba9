/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot as metrics for Prometheus: text format 0.0.4 or OpenMetrics 1.0.0. A limited number of
 * processes, and of sites of each process, have their own series. All others are summed up, so that
 * sums over any label equal the totals of the report.
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
 * Maximum number of series per process and per site; see docs/mtrace-bpf.1. A process has one row
 * for each requested site and one for all other sites. Two more rows cover the processes without
 * their own series: "other" for those that are running, and "ended".
 */
#define PROMETHEUS_OF_PROCESS 60
#define PROMETHEUS_OF_SITE    9
#define PROMETHEUS_OF_US      13

/* What the snapshot does not contain: the state of the tracer itself. */
struct prometheus_self {
	bool has_ring;
	uint64_t ring_used_ppm; /* peak ring buffer usage since the last call, in millionths */
	uint64_t resident_bytes;
	uint64_t cpu_ns;
};

/* The sites of the snapshot must be sorted by SORT_USAGE. Returns 0 or -errno. */
int prometheus_write(const struct snapshot *snapshot, const struct prometheus_options *options,
		     const struct prometheus_self *self, FILE *file);

#endif
