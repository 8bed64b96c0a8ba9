/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/snapshot/suspect.h"

#include <string.h>

static double share_of(uint64_t part, uint64_t whole)
{
	return part < whole ? (double)part / (double)whole : whole ? 1 : 0;
}

double suspect_weight(const struct snapshot_process *process, const struct snapshot_site *site)
{
	const struct snapshot_sum *classes = site->leaks.classes;
	uint64_t blocks = site->allocations + site->inherited_blocks;
	double weight = site->growth.slope;

	weight *= 0.25 + 0.75 * share_of(site->live_blocks, blocks);
	weight *= 1 + 3 * share_of(snapshot_leaked(classes).bytes, site->live_bytes);
	if (process->scan.done && classes[LEAK_REACHABLE].blocks >= site->live_blocks)
		weight /= 2;
	return weight;
}

static bool is_worse(const struct snapshot_process *process, const struct snapshot_site *a,
		     const struct snapshot_site *b)
{
	double left = suspect_weight(process, a), right = suspect_weight(process, b);

	return left > right || (left == right && a->id < b->id);
}

/* Inserts a site in sorted order; the last one may be dropped. */
static void insert(const struct snapshot_process *process, const struct snapshot_site *site,
		   const struct snapshot_site **sites, size_t count, size_t max)
{
	size_t i = count < max ? count : max - 1;

	if (count >= max && (!max || !is_worse(process, site, sites[max - 1])))
		return;
	for (; i && is_worse(process, site, sites[i - 1]); i--)
		sites[i] = sites[i - 1];
	sites[i] = site;
}

size_t suspects_find(const struct snapshot_process *process, const struct snapshot_site **ret_sites,
		     size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < process->site_count; i++)
		if (snapshot_is_suspect(&process->sites[i]))
			insert(process, &process->sites[i], ret_sites, count++, max);
	return count;
}
