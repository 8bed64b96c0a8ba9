/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a site is a suspect, in words. */
#ifndef MTRACE_REPORT_COMMON_SUSPECT_WORDS_H
#define MTRACE_REPORT_COMMON_SUSPECT_WORDS_H

#include <stdbool.h>

#include "model/snapshot/snapshot.h"

#define SUSPECT_SIZE 512

/* "1.2 MiB/min". Returns `text`. */
#define RATE_SIZE 48
const char *growth_rate(double bytes_per_second, char text[RATE_SIZE]);

/*
 * "grows 1.2 MiB/min for 12m (very certain); none of its 4,100 blocks was ever freed; 3,900 are
 * definite leaks". Returns `text`.
 */
const char *suspect_reasons(const struct snapshot_process *process,
			    const struct snapshot_site *site, bool utf8, char text[SUSPECT_SIZE]);

#endif
