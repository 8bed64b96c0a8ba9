/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suspects: sites that grow (model/site/growth.h) and have done so for a while, ranked by what they
 * cost. A rank is the rate of growth, weighted with what else speaks for or against a site:
 *
 *	times 1 to 4   by the share of what lives that a leak scan calls definite leaks
 *	times 1/2      if that scan found pointers to all of it: a container that only grows
 *	times 1/4 to 1 by the share of its blocks that were never freed
 *
 * What was allocated at the start and is never freed is none, since it does not grow; neither is a
 * cache that is full, nor what a suppression excuses.
 */
#ifndef MTRACE_MODEL_SNAPSHOT_SUSPECT_H
#define MTRACE_MODEL_SNAPSHOT_SUSPECT_H

#include "model/snapshot/snapshot.h"

#define SUSPECTS_SHOWN 5

double suspect_weight(const struct snapshot_process *process, const struct snapshot_site *site);

/* The worst of the process, at most `max`, the worst first. Returns how many there are. */
size_t suspects_find(const struct snapshot_process *process, const struct snapshot_site **ret_sites,
		     size_t max);

#endif
