/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leak scans that a stream tells of, on their way into the books. */
#ifndef MTRACE_NET_TOLD_SCAN_H
#define MTRACE_NET_TOLD_SCAN_H

#include "base/vec.h"
#include "net/stream.h"

/* Sites of a scan that is being told. Zeroed memory has none. */
struct told_scan {
	VEC(struct stream_scan_site) sites;
};

int told_scan_site(struct told_scan *told, const struct stream_scan_site *site); /* 0 or -ENOMEM */
/* The scan itself: into the books, if they are those that it was of. 0 or -ENOMEM. */
int told_scan_end(struct told_scan *told, struct model *model, const struct stream_scan *scan);
void told_scan_free(struct told_scan *told);

#endif
