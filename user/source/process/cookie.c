/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/process/cookie.h"

/* The number of this allocator among all traced ones, from 0. */
static uint8_t object_number(struct prober *prober, const struct module *module)
{
	uint32_t number = map64_get(&prober->allocators, module->id);

	if (number == MAP64_NONE) {
		number = (uint32_t)prober->allocators.count;
		/* Out of memory, the next one gets the same number: a free may count as
		 * unmatched. */
		map64_set(&prober->allocators, module->id, number);
	}
	return (uint8_t)number;
}

uint64_t cookie_anybody(const struct traced_process *process)
{
	if (!process->shared || process->config->scope != SCOPE_NAMED)
		return 0;
	return (uint64_t)COOKIE_FLAG_ANYBODY << 24;
}

uint64_t cookie_of_site(const struct traced_process *process, const struct module *module,
			const struct probe_plan *plan, const struct probe_site *site)
{
	uint64_t cookie = api_cookie(site->api);

	/* Identifies the allocator that frees: one may call the free of another. */
	if (!api_needs_return(site->api))
		cookie |= (uint64_t)object_number(process->prober, module) << COOKIE_OBJECT_SHIFT;
	cookie |= cookie_anybody(process) | alloc_filter_leaf_flag(module, plan, site->api);

	/* Without that hook, only the caller of free tells the program's frees from the cleanup of
	 * an exiting thread. */
	if (!api_needs_return(site->api) && !plan->hooks[HOOK_THREAD_EXITS])
		cookie |= (uint64_t)COOKIE_FLAG_CALLER << 24;
	return cookie;
}

enum probe_kind cookie_kind(const struct traced_process *process, const struct module *module,
			    const struct probe_plan *plan, const struct probe_site *site)
{
	if (site->by_exits)
		return PROBE_EXIT_ENTRY;
	if (site->needs_return)
		return PROBE_CALL;
	if (process->config->sanity)
		return PROBE_FREE;
	return cookie_of_site(process, module, plan, site) == COOKIE_PLAIN_FREE ? PROBE_FREE_PLAIN
										: PROBE_FREE;
}
