/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/losses.h"

#include "source/trace/probes.h"
#include "source/trace/translated.h"

int processes_deliver_losses(const struct traced_process *process, const uint64_t count[LOSS_COUNT])
{
	const struct snapshot_losses losses = {
		.events = count[LOSS_EVENTS] + count[LOSS_READ],
		.stacks = count[LOSS_STACKS],
		.missed_returns = count[LOSS_NO_RETURN] + count[LOSS_NO_STATE],
		.unprobed_sites = process->unprobed_sites,
		.gap_ns = process->gap_ns + translated_gap_ns(process) + count[LOSS_GAP_NS],
		.no_allocator = process->translated || !probes_found(process),
		.children = count[LOSS_CHILDREN],
		.filtered = count[LOSS_FILTERED],
	};
	struct event event = {.kind = EVENT_LOSSES, .losses = &losses};

	return traced_process_deliver(process, &event);
}
