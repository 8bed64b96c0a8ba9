// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/process/sanity_check.h"

#include <errno.h>

#include "model/process/process.h"
#include "model/process/state.h"

static const uint8_t kinds_by_release[API_COUNT] = {
	[API_FREE] = ALLOCATOR_KIND_MALLOC,
	[API_REALLOC] = ALLOCATOR_KIND_MALLOC,
	[API_REALLOCARRAY] = ALLOCATOR_KIND_MALLOC,
	[API_DELETE] = ALLOCATOR_KIND_NEW,
	[API_DELETE_ARRAY] = ALLOCATOR_KIND_NEW_ARRAY,
};

/* A delete without a mark is of unknown kind: an allocator may have its own delete, or the mark is
 * missing. */
static enum allocator_kind allocator_kind_of_release(const struct process *process,
						     const struct event *event)
{
	uint32_t operator_api = EVENT_OPERATOR(event->flags);

	if (operator_api)
		return operator_api < API_COUNT
			       ? (enum allocator_kind)kinds_by_release[operator_api]
			       : ALLOCATOR_KIND_UNKNOWN;
	if (api_is_operator(event->api) ||
	    mappings_wrapper(&process->mappings, event->call.caller) != API_NONE)
		return ALLOCATOR_KIND_UNKNOWN;
	return (enum allocator_kind)kinds_by_release[event->api];
}

static int event_stack(struct process *process, const struct event *event, uint32_t *ret_stack)
{
	return stacks_of_call(&process->stacks, &event->call, process->mappings.clock, ret_stack);
}

/* While realloc moved the block, another thread may have been given its old address. */
static int freed_remember(struct process *process, const struct freed *freed)
{
	return heap_find(&process->heap, freed->address) ? 0
							 : sanity_remember(&process->sanity, freed);
}

static bool is_size_wrong(const struct event *event, const struct block *block)
{
	uint64_t passed = event->call.size ? event->call.size : 1; /* new(0) allocates one byte */

	return event->call.size != SIZE_UNKNOWN &&
	       (passed > block->size || block->size - passed > event->call.slack);
}

static int check_release(struct process *process, const struct event *event,
			 const struct block *block, uint32_t stack)
{
	enum allocator_kind released = allocator_kind_of_release(process, event);
	enum allocator_kind allocated =
		(enum allocator_kind)process_site_at(process, block->site)->allocator_kind;
	bool mismatched = released != allocated;
	struct site *site;

	if (released == ALLOCATOR_KIND_UNKNOWN || allocated == ALLOCATOR_KIND_UNKNOWN ||
	    (!mismatched && !is_size_wrong(event, block)))
		return 0;
	site = process_site_change(process, block->site);
	if (!site)
		return -ENOMEM;
	site->mismatched++;
	return sanity_add_error(
		&process->sanity,
		(struct sanity_error){
			.kind = mismatched ? SANITY_MISMATCHED_FREE : SANITY_SIZE_MISMATCH,
			.api = (uint8_t)sanity_api(event),
			.site = block->site,
			.freed_at = stack,
			.freed_again_at = STACK_NONE,
			.address = block->address,
			.size = block->size,
			.passed_size = event->call.size,
			.first_seen_ns = event->time_ns,
		});
}

int sanity_released(struct process *process, const struct event *event, const struct block *block)
{
	struct freed freed = {.address = block->address,
			      .size = block->size,
			      .site = block->site,
			      .api = (uint8_t)sanity_api(event)};

	if (event_stack(process, event, &freed.stack) || freed_remember(process, &freed))
		return -ENOMEM;
	return block->site == SITE_NONE ? 0 : check_release(process, event, block, freed.stack);
}

static struct sanity_error double_free_of(const struct freed *freed, uint32_t stack)
{
	return (struct sanity_error){
		.kind = SANITY_DOUBLE_FREE,
		.freed_by = freed->api,
		.site = freed->site,
		.freed_at = freed->stack,
		.freed_again_at = stack,
		.size = freed->size,
	};
}

static int count_bad_free(struct process *process, uint32_t index)
{
	struct site *site = NULL;

	if (index == SITE_NONE)
		return 0;
	site = process_site_change(process, index);
	if (!site)
		return -ENOMEM;
	site->bad_frees++;
	return 0;
}

int sanity_bad_free(struct process *process, const struct event *event)
{
	struct sanity *sanity = &process->sanity;
	uint32_t known = map64_get(&sanity->by_address, event->call.address);
	struct sanity_error error = {
		.kind = SANITY_INVALID_FREE, .site = SITE_NONE, .freed_again_at = STACK_NONE};
	uint32_t stack;

	if (event_stack(process, event, &stack))
		return -ENOMEM;
	error.freed_at = stack;
	if (known != MAP64_NONE)
		error = double_free_of(&sanity->freed.items[known], stack);
	error.api = (uint8_t)sanity_api(event);
	error.address = event->call.address;
	error.passed_size = SIZE_UNKNOWN;
	error.first_seen_ns = event->time_ns;
	sanity->bad_frees++;
	if (count_bad_free(process, error.site))
		return -ENOMEM;
	return sanity_add_error(sanity, error);
}

/* Otherwise an address may have been allocated again although the model considers it free. */
static bool is_lossless(const struct snapshot_losses *losses)
{
	return !losses->events && !losses->missed_returns && !losses->unprobed_sites &&
	       !losses->gap_ns && !losses->collisions;
}

bool sanity_is_certain(const struct process *process, enum sanity_kind kind)
{
	struct snapshot_losses losses = process_losses(process);
	bool lossless = is_lossless(&losses) && is_lossless(&process->found);

	if (kind == SANITY_INVALID_FREE)
		return lossless && process_is_complete(process) && !process->config->omits;
	return kind == SANITY_DOUBLE_FREE ? lossless : true;
}
