/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/process/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/config.h"
#include "model/process/series.h"
#include "model/process/state.h"

#define NS_PER_TICK     1000000ULL
#define BLOCKS_AT_ONCE  2048
#define BLOCKS_PER_CALL 16

/* Copies a text; NULL stays NULL. Returns 0 or -ENOMEM. */
static int text_copy(char **ret_copy, const char *text)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? -ENOMEM : 0;
}

static int command_copy(struct process_program *program, const char *const *command)
{
	for (; command && *command; command++) {
		char *word;

		if (text_copy(&word, *command))
			return -ENOMEM;
		if (vec_push(&program->command, word)) {
			free(word);
			return -ENOMEM;
		}
	}
	return 0;
}

static void program_drop(struct process_program *program)
{
	char **word;

	if (!program || --program->owners)
		return;
	vec_each (word, &program->command)
		free(*word);
	vec_free(&program->command);
	free(program->exe);
	free(program->arch);
	free(program->cgroup);
	free(program->container);
	free(program);
}

static struct process_program *program_new(const struct event_process *given)
{
	struct process_program *program = calloc(1, sizeof(*program));

	if (!program)
		return NULL;
	program->owners = 1;
	if (!text_copy(&program->exe, given->exe) && !text_copy(&program->arch, given->arch) &&
	    !text_copy(&program->cgroup, given->cgroup) &&
	    !text_copy(&program->container, given->container) &&
	    !command_copy(program, given->command))
		return program;
	program_drop(program);
	return NULL;
}

int process_new(struct process **ret_process, const struct event *event,
		const struct model_config *config, uint32_t number)
{
	const struct event_process *given = &event->process;
	struct process *process = calloc(1, sizeof(*process));
	struct user user = {
		.pid = event->pid,
		.ppid = given->ppid,
		.start_time_ns = given->start_time_ns,
		.inner_pid = given->inner_pid,
	};

	if (!process)
		return -ENOMEM;
	process->config = config;
	process->number = number;
	process->origin = given->origin;
	process->from_start = given->from_start;
	process->origin_ns = process->since_ns = process->tick_end_ns = event->time_ns;
	process->peak.number = 1;
	process->peak.ns = event->time_ns;
	process->stacks.max = config->max_sites;
	process->program = program_new(given);
	if (!process->program || text_copy(&process->comm, given->comm) ||
	    vec_push(&process->users, user)) {
		process_free(process);
		return -ENOMEM;
	}
	*ret_process = process;
	return 0;
}

static int tables_copy(struct process *process, const struct process *parent)
{
	return heap_copy(&process->heap, &parent->heap) ||
			       regions_copy(&process->regions, &parent->regions) ||
			       pendings_copy(&process->pendings, &parent->pendings) ||
			       cow_copy(&process->sites, &parent->sites) ||
			       stacks_copy(&process->stacks, &parent->stacks) ||
			       mappings_copy(&process->mappings, &parent->mappings) ||
			       sanity_inherit(&process->sanity, &parent->sanity)
		       ? -ENOMEM
		       : 0;
}

static void sums_inherit(struct process *process, const struct process *parent)
{
	process->live_blocks = process->inherited.blocks = parent->live_blocks;
	process->live_bytes = process->inherited.bytes = parent->live_bytes;
	process->totals.peak_live_bytes = parent->live_bytes;
	process->maps = parent->maps;
	process->map_bytes = parent->map_bytes;
}

int process_fork(struct process **ret_process, const struct process *parent,
		 const struct event *event, uint32_t number)
{
	const struct event_fork *fork = &event->fork;
	struct process *process = calloc(1, sizeof(*process));
	struct user user = {event->pid, fork->parent, fork->start_time_ns, {0}, 0};

	if (!process)
		return -ENOMEM;
	process->config = parent->config;
	process->number = number;
	process->origin = ORIGIN_FORKED;
	process->from_start = parent->from_start;
	process->partial = !process_is_complete(parent);
	process->paused = parent->paused;
	process->origin_ns = parent->origin_ns;
	process->since_ns = process->tick_end_ns = process->peak.ns = event->time_ns;
	process->peak.number = 1;
	process->peak.bytes = parent->live_bytes;
	process->program = parent->program;
	process->program->owners++;
	sums_inherit(process, parent);
	if (text_copy(&process->comm, fork->comm) || vec_push(&process->users, user) ||
	    tables_copy(process, parent)) {
		process_free(process);
		return -ENOMEM;
	}
	*ret_process = process;
	return 0;
}

struct user *process_user(const struct process *process, uint32_t pid)
{
	struct user *user;

	vec_each (user, &process->users)
		if (user->pid == pid)
			return user;
	return NULL;
}

struct snapshot_losses process_losses(const struct process *process)
{
	struct snapshot_losses losses = process->losses;
	const struct user *user;

	vec_each (user, &process->users)
		snapshot_losses_add(&losses, &user->losses);
	return losses;
}

static bool losses_are_none(const struct snapshot_losses *losses)
{
	return !losses->events && !losses->unmatched_frees && !losses->missed_returns &&
	       !losses->unprobed_sites && !losses->gap_ns && !losses->collisions &&
	       !losses->no_allocator;
}

bool process_is_complete(const struct process *process)
{
	struct snapshot_losses losses = process_losses(process);

	return process->from_start && !process->partial && !process_is_filtered(process) &&
	       losses_are_none(&process->found) && losses_are_none(&losses);
}

static void tables_free(struct process *process)
{
	heap_free(&process->heap);
	regions_free(&process->regions);
	pendings_free(&process->pendings);
	map64_free(&process->ending);
	sanity_close(&process->sanity);
	free(process->last_calls);
	process->last_calls = NULL;
}

/*
 * Examining all blocks takes time. For a child, it should be proportional to its activity: a child
 * that exits soon may have inherited millions of blocks.
 */
static bool is_worth_examining(const struct process *process)
{
	uint64_t calls = process->totals.allocations + process->totals.frees;

	return process->origin != ORIGIN_FORKED ||
	       process->heap.count <= BLOCKS_AT_ONCE + calls * BLOCKS_PER_CALL;
}

void process_close(struct process *process, uint64_t now_ns)
{
	process->until_ns = now_ns;
	process->closed = true;
	stacks_close(&process->stacks);
	process_settle_series(process);
	if (process->config->sample || process->config->limit_sample)
		process->live_sampled = weight_live(process->config, &process->heap);
	/* If there is no memory for the result, the tables are kept; that works as well, but takes
	 * more memory. */
	if (is_worth_examining(process) && process_ages(process, &process->ages))
		return;
	if (process->config->lists_blocks)
		return;
	process->settled = true;
	tables_free(process);
}

void process_free(struct process *process)
{
	if (!process)
		return;
	tables_free(process);
	process_free_series(process);
	stacks_free(&process->stacks);
	mappings_free(&process->mappings);
	cow_free(&process->sites);
	sanity_free(&process->sanity);
	vec_free(&process->users);
	program_drop(process->program);
	free(process->comm);
	free(process->ages);
	free(process->scan_reason);
	free(process->leaks);
	free(process);
}

uint32_t process_time(const struct process *process, uint64_t time_ns)
{
	uint64_t ticks;

	if (time_ns <= process->origin_ns)
		return 0;
	ticks = (time_ns - process->origin_ns) / NS_PER_TICK;
	return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

/* Ticks are coarse: never report a block as older than its site. */
uint64_t process_block_ns(const struct process *process, uint32_t site, uint32_t time)
{
	uint64_t ns = process->origin_ns + time * NS_PER_TICK;
	uint64_t first_seen_ns = process_site_at(process, site)->first_seen_ns;

	return ns < first_seen_ns ? first_seen_ns : ns;
}

struct site *process_site_change(struct process *process, uint32_t index)
{
	struct site *site = cow_write(&process->sites, index, sizeof(*site));

	if (site && site->process_number != process->number) {
		site_inherit(site);
		site->process_number = process->number;
	}
	if (!site)
		return NULL;
	if (site->peak != process->peak.number) {
		site->at_peak_bytes = site->live_bytes;
		site->peak = process->peak.number;
	}
	if (site->tick != process->tick)
		process_note(process, index, site);
	return site;
}

/* For a call from other stacks, the direct caller is known, and whether it is a wrapper. */
static enum api wrapper_of(const struct process *process, const struct event *event,
			   const struct stack *stack)
{
	return stack->other ? mappings_wrapper(&process->mappings, event->call.caller)
			    : (enum api)stack->wrapper;
}

/* Returns the operator new or new[] that made the call, if known; it may have left no frame. */
static enum api operator_of(const struct process *process, const struct event *event)
{
	uint32_t operator_api = process->config->sanity ? EVENT_OPERATOR(event->flags) : API_NONE;

	return operator_api == API_NEW || operator_api == API_NEW_ARRAY ? (enum api)operator_api
									: API_NONE;
}

static enum api api_of_block(const struct process *process, const struct event *event,
			     const struct stack *stack)
{
	enum api wrapper;

	if (api_row(event->api)->family == FAMILY_MAP)
		return mappings_in_allocator(&process->mappings, event->call.caller) ? API_MMAP_LIBC
										     : event->api;
	if (process->config->wrappers && operator_of(process, event) != API_NONE)
		return operator_of(process, event);
	wrapper = process->config->wrappers ? wrapper_of(process, event, stack) : API_NONE;
	return wrapper == API_NONE ? event->api : wrapper;
}

static enum allocator_kind allocator_kind_of_block(const struct process *process,
						   const struct event *event,
						   const struct stack *stack)
{
	if (!process->config->sanity)
		return ALLOCATOR_KIND_UNKNOWN;
	return sanity_allocator_kind(event, wrapper_of(process, event, stack) != API_NONE);
}

/* Wrappers may call each other: operator new[] (nothrow) calls operator new[], which calls operator
 * new. */
static int stack_find_wrappers(struct process *process, uint32_t index)
{
	struct stack *stack = stack_change(&process->stacks, index);
	enum api api;

	if (!stack)
		return -ENOMEM;
	stack->wrapper = API_NONE;
	for (stack->wrappers = 0; stack->wrappers < stack->count; stack->wrappers++) {
		api = mappings_wrapper(&process->mappings, stack->frames[stack->wrappers]);
		if (api == API_NONE)
			break;
		stack->wrapper = (uint8_t)api;
	}
	return 0;
}

/* Finds the site with the same stack, api and kind of allocator. Returns SITE_NONE if there is
 * none.
 */
static uint32_t site_find(const struct process *process, const struct site *wanted)
{
	uint32_t index = stack_at(&process->stacks, wanted->stack)->site;

	while (index != SITE_NONE) {
		const struct site *site = process_site_at(process, index);

		if (site->api == wanted->api && site->allocator_kind == wanted->allocator_kind)
			break;
		index = site->next;
	}
	return index;
}

static int site_new(struct process *process, const struct site *wanted, uint32_t *ret_site)
{
	struct stack *owner = stack_change(&process->stacks, wanted->stack);
	uint32_t index = (uint32_t)process->sites.count;
	struct site *site;

	if (!owner || cow_grow(&process->sites, 1, sizeof(*site)))
		return -ENOMEM;
	site = cow_write(&process->sites, index, sizeof(*site));
	*site = *wanted;
	site->next = owner->site;
	site->process_number = process->number;
	*ret_site = owner->site = index;
	return 0;
}

/* Finds or creates the site of an api at a stack. Beyond the limit, uses a site of the other
 * stacks. */
static int site_take(struct process *process, struct site wanted, uint32_t *ret_site)
{
	*ret_site = site_find(process, &wanted);
	if (*ret_site != SITE_NONE)
		return 0;
	if (process->sites.count >= process->config->max_sites &&
	    !stack_at(&process->stacks, wanted.stack)->other) {
		if (stacks_other(&process->stacks, &wanted.stack))
			return -ENOMEM;
		return site_take(process, wanted, ret_site);
	}
	return site_new(process, &wanted, ret_site);
}

int process_site(struct process *process, const struct event *event, uint32_t *ret_site)
{
	struct site wanted = {.first_seen_ns = event->time_ns};
	const struct stack *stack;

	*ret_site = SITE_NONE;
	if (process->paused)
		return 0;
	if (stacks_of_call(&process->stacks, &event->call, process->mappings.clock, &wanted.stack))
		return -ENOMEM;
	stack = stack_at(&process->stacks, wanted.stack);
	if (stack->site == SITE_NONE && !stack->other && stack_find_wrappers(process, wanted.stack))
		return -ENOMEM;
	stack = stack_at(&process->stacks, wanted.stack);
	wanted.api = (uint8_t)api_of_block(process, event, stack);
	wanted.allocator_kind = (uint8_t)allocator_kind_of_block(process, event, stack);
	if (!(process->config->apis & 1u << wanted.api))
		return 0;
	return site_take(process, wanted, ret_site);
}

struct age_search {
	const struct process *process;
	struct ages *ages;
};

static void ages_note(const struct age_search *search, uint32_t site, uint32_t time,
		      uint64_t blocks)
{
	struct ages *ages;
	uint64_t ns;

	if (site == SITE_NONE)
		return;
	ages = &search->ages[site];
	ns = process_block_ns(search->process, site, time);
	if (!ages->oldest_ns || ns < ages->oldest_ns)
		ages->oldest_ns = ns;
	if (ns > ages->youngest_ns)
		ages->youngest_ns = ns;
	ages->sum_ms += time * blocks;
	ages->count += blocks;
}

static void ages_visit_block(void *ctx, const struct block *block)
{
	const struct age_search *search = ctx;

	ages_note(search, block->site, block->time,
		  weight_of(search->process->config, block).blocks);
}

static void ages_find(const struct age_search *search)
{
	const struct process *process = search->process;
	const struct pending *pending;
	const struct region *region;

	heap_visit(&process->heap, ages_visit_block, (void *)search);
	vec_each (region, &process->regions.regions)
		if (region->bytes)
			ages_note(search, region->site, region->time, 1);
	vec_each (pending, &process->pendings.items)
		if (pending->block.address)
			ages_visit_block((void *)search, &pending->block);
}

/* Uses the age of the site as an upper bound for its blocks. */
static void ages_bound(const struct age_search *search)
{
	for (uint32_t i = 0; i < search->process->sites.count; i++) {
		struct site site = process_site_view(search->process, i);

		if (site.live_blocks)
			ages_note(search, i, 0, 1);
	}
}

int process_ages(const struct process *process, struct ages **ret_ages)
{
	size_t count = process->sites.count;
	struct age_search search = {.process = process,
				    .ages = calloc(count + 1, sizeof(*search.ages))};

	if (!search.ages)
		return -ENOMEM;
	if (process->ages)
		memcpy(search.ages, process->ages, count * sizeof(*search.ages));
	else if (process->settled)
		ages_bound(&search);
	else
		ages_find(&search);
	*ret_ages = search.ages;
	return 0;
}
