/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pass over all memory. */
#ifndef MTRACE_SCAN_MARK_PASS_H
#define MTRACE_SCAN_MARK_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "scan/mark/mark.h"

/* The range with blocks that contains the address, and the end of that range. */
const struct scan_range *scan_range_at(const struct scan *scan, uint64_t address);
uint64_t scan_range_end(const struct scan *scan, uint64_t address);
/* Scans everything that the feed delivers. Returns 0 or -errno. */
int scan_feed(struct scan *scan, struct feed *feed);
/* Scans all memory once. Returns 0 or -errno. */
int scan_pass(struct scan *scan);

#endif
