/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which metrics to write. */
#ifndef MTRACE_REPORT_PROMETHEUS_OPTIONS_H
#define MTRACE_REPORT_PROMETHEUS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct prometheus_options {
	bool openmetrics;   /* OpenMetrics 1.0.0; otherwise the text format 0.0.4 */
	uint32_t processes; /* the number of processes with their own series */
	uint32_t sites;     /* of each process; the same number again for mapped regions */
};

#endif
