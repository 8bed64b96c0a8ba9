/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reachability, along the pointers that the pass remembered. */
#ifndef MTRACE_SCAN_MARK_SPREAD_H
#define MTRACE_SCAN_MARK_SPREAD_H

#include "scan/mark/mark.h"

/* Finds all blocks that are reachable. Returns 0 or -errno. */
int scan_spread(struct scan *scan);
/* Tells indirect from definite blocks among those that are not reachable. Returns 0 or -errno. */
int scan_sort_lost(struct scan *scan);

#endif
