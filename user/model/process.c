/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_TICK 1000000ULL

/* 0 or -ENOMEM; no text has no copy. */
static int text_copy(char **ret_copy, const char *text)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? -ENOMEM : 0;
}

static int command_copy(struct process *process, const char *const *command)
{
	for (; command && *command; command++) {
		char *word;

		if (text_copy(&word, *command))
			return -ENOMEM;
		if (vec_push(&process->command, word)) {
			free(word);
			return -ENOMEM;
		}
	}
	return 0;
}

int process_new(struct process **ret_process, const struct event *event,
		const struct model_config *config)
{
	const struct event_process *told = &event->process;
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return -ENOMEM;
	process->config = config;
	process->pid = event->pid;
	process->ppid = told->ppid;
	process->start_time_ns = told->start_time_ns;
	process->launched = told->launched;
	process->since_ns = event->time_ns;
	if (text_copy(&process->comm, told->comm) || text_copy(&process->exe, told->exe) ||
	    text_copy(&process->arch, told->arch) || command_copy(process, told->command)) {
		process_free(process);
		return -ENOMEM;
	}
	*ret_process = process;
	return 0;
}

static void tables_free(struct process *process)
{
	heap_free(&process->heap);
	regions_free(&process->regions);
	pendings_free(&process->pendings);
	map64_free(&process->ending);
}

void process_close(struct process *process, uint64_t now_ns)
{
	process->closed = true;
	process->until_ns = now_ns;
	/* Without memory for the result, the tables stay as they are: as good, only larger. */
	if (!process_oldest(process, &process->oldest_ns))
		tables_free(process);
}

void process_free(struct process *process)
{
	char **word;

	if (!process)
		return;
	tables_free(process);
	stacks_free(&process->stacks);
	mappings_free(&process->mappings);
	vec_free(&process->sites);
	vec_each (word, &process->command)
		free(*word);
	vec_free(&process->command);
	free(process->comm);
	free(process->exe);
	free(process->arch);
	free(process->oldest_ns);
	free(process->scan_reason);
	free(process->leaks);
	free(process);
}

uint32_t process_time(const struct process *process, uint64_t time_ns)
{
	uint64_t ticks;

	if (time_ns <= process->since_ns)
		return 0;
	ticks = (time_ns - process->since_ns) / NS_PER_TICK;
	return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

/* Ticks are coarse: never tell of a block older than its site. */
uint64_t process_block_ns(const struct process *process, uint32_t site, uint32_t time)
{
	uint64_t ns = process->since_ns + time * NS_PER_TICK;
	uint64_t first_seen_ns = process->sites.items[site].first_seen_ns;

	return ns < first_seen_ns ? first_seen_ns : ns;
}

static enum api booked_api(const struct process *process, const struct event *event,
			   const struct stack *stack)
{
	if (api_row(event->api)->family == FAMILY_MAP)
		return mappings_in_allocator(&process->mappings, event->call.caller) ? API_MMAP_LIBC
										     : event->api;
	if (process->config->wrappers && stack->wrapper != API_NONE)
		return (enum api)stack->wrapper;
	return event->api;
}

/* Wrappers may call each other: operator new[] (nothrow) calls operator new[], that operator new.
 */
static void stack_find_wrappers(const struct process *process, struct stack *stack)
{
	const uint64_t *frames = process->stacks.frames.items + stack->first;
	enum api api;

	stack->wrapper = API_NONE;
	for (stack->wrappers = 0; stack->wrappers < stack->count; stack->wrappers++) {
		api = mappings_wrapper(&process->mappings, frames[stack->wrappers]);
		if (api == API_NONE)
			break;
		stack->wrapper = (uint8_t)api;
	}
}

static int site_new(struct process *process, uint32_t stack, enum api api, uint64_t time_ns,
		    uint32_t *ret_site)
{
	struct stack *owner = &process->stacks.items.items[stack];
	struct site site = {
		.api = (uint8_t)api, .stack = stack, .next = owner->site, .first_seen_ns = time_ns};

	if (vec_push(&process->sites, site))
		return -ENOMEM;
	*ret_site = owner->site = (uint32_t)process->sites.count - 1;
	return 0;
}

int process_site(struct process *process, const struct event *event, uint32_t *ret_site)
{
	struct stack *stack;
	uint32_t index, site;
	enum api api;

	if (stacks_of_call(&process->stacks, &event->call, process->mappings.clock, &index))
		return -ENOMEM;
	stack = &process->stacks.items.items[index];
	if (stack->site == SITE_NONE)
		stack_find_wrappers(process, stack);
	api = booked_api(process, event, stack);
	if (!(process->config->apis & 1u << api)) {
		*ret_site = SITE_NONE;
		return 0;
	}
	for (site = stack->site; site != SITE_NONE; site = process->sites.items[site].next)
		if (process->sites.items[site].api == api)
			break;
	if (site == SITE_NONE)
		return site_new(process, index, api, event->time_ns, ret_site);
	*ret_site = site;
	return 0;
}

struct oldest {
	const struct process *process;
	uint64_t *ns;
};

static void oldest_note(const struct oldest *oldest, uint32_t site, uint32_t time)
{
	uint64_t ns;

	if (site == SITE_NONE)
		return;
	ns = process_block_ns(oldest->process, site, time);
	if (!oldest->ns[site] || ns < oldest->ns[site])
		oldest->ns[site] = ns;
}

static void oldest_visit_block(void *ctx, const struct block *block)
{
	oldest_note(ctx, block->site, block->time);
}

int process_oldest(const struct process *process, uint64_t **ret_oldest_ns)
{
	struct oldest oldest = {.process = process};
	const struct pending *pending;
	const struct region *region;

	oldest.ns = calloc(process->sites.count + 1, sizeof(*oldest.ns));
	if (!oldest.ns)
		return -ENOMEM;
	if (process->oldest_ns) {
		memcpy(oldest.ns, process->oldest_ns, process->sites.count * sizeof(*oldest.ns));
		*ret_oldest_ns = oldest.ns;
		return 0;
	}
	heap_visit(&process->heap, oldest_visit_block, &oldest);
	vec_each (region, &process->regions.regions)
		if (region->bytes)
			oldest_note(&oldest, region->site, region->time);
	vec_each (pending, &process->pendings.items)
		if (pending->block.address)
			oldest_visit_block(&oldest, &pending->block);
	*ret_oldest_ns = oldest.ns;
	return 0;
}
