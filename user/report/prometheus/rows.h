/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes and sites that have their own series, with their labels as text, and the sums of
 * the others.
 */
#ifndef MTRACE_REPORT_PROMETHEUS_ROWS_H
#define MTRACE_REPORT_PROMETHEUS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/snapshot/snapshot.h"
#include "report/prometheus/options.h"

/* The values of one site or of several. */
struct site_sums {
	uint64_t live_bytes, live_blocks, allocations, frees, bytes_allocated;
	struct snapshot_sum classes[LEAK_CLASS_COUNT];
};

struct site_line {
	char *labels; /* including those of the process */
	enum api_family family;
	struct site_sums sums;
};

/* One process, or the sum of several. */
struct process_line {
	const struct snapshot_process *process;
	char *labels;
	bool running;
	bool scanned;
	VEC(struct site_line) sites;
};

struct rows {
	VEC(struct process_line) list;
	struct snapshot_others other, ended;
};

bool process_is_running(const struct snapshot_process *process);
/*
 * Returns 0 or -ENOMEM; call rows_free in any case. The rows borrow from the snapshot and point
 * into *rows, so do not move it.
 */
int rows_make(struct rows *rows, const struct snapshot *snapshot,
	      const struct prometheus_options *options);
void rows_free(struct rows *rows);

#endif
