/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who has series of their own, processes and sites, with their labels as text; and what the others
 * sum up to.
 */
#ifndef MTRACE_REPORT_PROMETHEUS_ROWS_H
#define MTRACE_REPORT_PROMETHEUS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/snapshot/snapshot.h"
#include "report/prometheus/options.h"

/* What is shown of a site, or of many. */
struct site_sums {
	uint64_t live_bytes, live_blocks, allocations, frees, bytes_allocated;
	struct snapshot_sum classes[LEAK_CLASS_COUNT];
};

struct site_line {
	char *labels; /* with those of the process */
	enum api_family family;
	struct site_sums sums;
};

/* A process, or many. */
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
/* 0 or -ENOMEM; free them in any case. They borrow from the snapshot, and are not to be moved. */
int rows_make(struct rows *rows, const struct snapshot *snapshot,
	      const struct prometheus_options *options);
void rows_free(struct rows *rows);

#endif
