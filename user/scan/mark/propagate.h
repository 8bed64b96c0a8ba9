/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spreads reachability along the stored pointers. */
#ifndef MTRACE_SCAN_MARK_PROPAGATE_H
#define MTRACE_SCAN_MARK_PROPAGATE_H

#include "scan/mark/mark.h"

/* Finds all blocks that are reachable. Returns 0 or -errno. */
int scan_propagate(struct scan *scan);
/* Sorts unreachable blocks into definite and indirect ones. Returns 0 or -errno. */
int scan_classify_unreachable(struct scan *scan);

#endif
