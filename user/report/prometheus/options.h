/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What metrics to write. */
#ifndef MTRACE_REPORT_PROMETHEUS_OPTIONS_H
#define MTRACE_REPORT_PROMETHEUS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct prometheus_options {
	bool openmetrics;   /* OpenMetrics 1.0.0; else the text format 0.0.4 */
	uint32_t processes; /* the number with their own series */
	uint32_t sites;     /* of each process; as many again for mapped regions */
};

#endif
