// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/sums.h"

bool snapshot_losses_hide_calls(const struct snapshot_losses *losses)
{
	return losses->events || losses->missed_returns || losses->unprobed_sites ||
	       losses->no_allocator || losses->gap_ns;
}

void snapshot_losses_add(struct snapshot_losses *sum, const struct snapshot_losses *losses)
{
	sum->events += losses->events;
	sum->stacks += losses->stacks;
	sum->truncated_stacks += losses->truncated_stacks;
	sum->unmatched_frees += losses->unmatched_frees;
	sum->missed_returns += losses->missed_returns;
	sum->unprobed_sites += losses->unprobed_sites;
	sum->gap_ns += losses->gap_ns;
	sum->no_allocator += losses->no_allocator;
	sum->children += losses->children;
	sum->collisions += losses->collisions;
	sum->filtered += losses->filtered;
}
