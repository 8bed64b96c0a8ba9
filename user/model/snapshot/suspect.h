/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suspects: sites that have been growing (model/site/growth.h) for a while, ranked by their cost.
 * The rank is the rate of growth, weighted with other evidence:
 *
 *	times 1 to 4   by the share of live bytes that a leak scan considers leaked
 *	times 1/2      if that scan found pointers to all of them: a container that only grows
 *	times 1/4 to 1 by the share of its blocks that were never freed
 *
 * A site that allocates at the start and never frees is not a suspect, because it does not grow.
 * Neither is a full cache, nor a site that is suppressed.
 */
#ifndef MTRACE_MODEL_SNAPSHOT_SUSPECT_H
#define MTRACE_MODEL_SNAPSHOT_SUSPECT_H

#include "model/snapshot/snapshot.h"

#define SUSPECTS_SHOWN 5

double suspect_weight(const struct snapshot_process *process, const struct snapshot_site *site);

/* Finds the `max` worst suspects of the process, the worst first. Returns the total number of
 * suspects. */
size_t suspects_find(const struct snapshot_process *process, const struct snapshot_site **ret_sites,
		     size_t max);

#endif
