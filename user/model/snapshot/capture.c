/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/snapshot/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/sample.h"
#include "model/process/sanity_check.h"
#include "model/process/process.h"
#include "model/process/series.h"
#include "model/process/state.h"

/* Copies a text; NULL stays NULL. Returns 0 or -ENOMEM. */
static int capture_text(struct snapshot *snapshot, const char *text, const char **ret_text)
{
	*ret_text = snapshot_string(snapshot, text);
	return text && !*ret_text ? -ENOMEM : 0;
}

static int capture_command(struct snapshot *snapshot, const struct process *process,
			   struct snapshot_process *section)
{
	size_t count = process->program->command.count;

	section->command = snapshot_alloc(snapshot, (count + 1) * sizeof(*section->command));
	if (!section->command)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (capture_text(snapshot, process->program->command.items[i],
				 &section->command[i]))
			return -ENOMEM;
	return 0;
}

static int capture_identity(struct snapshot *snapshot, const struct process *process,
			    uint64_t now_ns, struct snapshot_process *section)
{
	const struct user *user = &process->users.items[0];

	section->pid = user->pid;
	section->ppid = user->ppid;
	section->inner_pid = user->inner_pid;
	section->start_time_ns = user->start_time_ns;
	section->image = process->image;
	section->origin = process->origin;
	section->from_start = process->from_start;
	section->left = process->left;
	section->exited = process->exited;
	section->replaced = process->replaced;
	section->exit_code = process->exit_code;
	section->traced_since_ns = process->since_ns;
	section->traced_until_ns = process->closed ? process->until_ns : now_ns;
	if (capture_text(snapshot, process->comm, &section->comm) ||
	    capture_text(snapshot, process->program->exe, &section->exe) ||
	    capture_text(snapshot, process->program->arch, &section->arch) ||
	    capture_text(snapshot, process->program->cgroup, &section->cgroup) ||
	    capture_text(snapshot, process->program->container, &section->container))
		return -ENOMEM;
	return capture_command(snapshot, process, section);
}

static void capture_totals(const struct process *process, struct snapshot_process *section)
{
	section->totals.allocations = process->totals.allocations;
	section->totals.frees = process->totals.frees;
	section->totals.bytes_allocated = process->totals.bytes_allocated;
	section->totals.bytes_freed = process->totals.bytes_freed;
	section->totals.peak_live_bytes = process->totals.peak_live_bytes;
	section->totals.failed_allocations = process->totals.failed_allocations;
	memcpy(section->sizes, process->totals.sizes, sizeof(section->sizes));
	section->inherited = process->inherited;
	section->live.blocks = process->live_blocks;
	section->live.bytes = process->live_bytes;
	section->peak.bytes = process->peak.bytes;
	section->peak.ns = process->peak.ns;
	section->mappings.maps = process->maps;
	section->mappings.bytes = process->map_bytes;
	section->internal.frees = process->internal_frees;
	section->internal.munmaps = process->internal_munmaps;
	section->paused = process->paused;
	section->unaccounted = process->unaccounted;
}

#define SMALL_BLOCK 16 /* bytes; smaller blocks are rarely sampled: their number may be off */

/* Returns how many blocks one more sample may stand for. */
static double blocks_unit(uint64_t mean, const struct weight_sum *sum)
{
	double unit = (double)mean / SMALL_BLOCK, most = (double)sum->most;

	return most > unit ? most : unit > 1 ? unit : 1;
}

static void capture_bounds(const struct process *process, struct snapshot_sampling *sampling)
{
	const struct weight_sum *all = &process->totals.sampled;
	struct weight_sum live = process->closed ? process->live_sampled
						 : weight_live(process->config, &process->heap);
	double mean = (double)sampling->mean;

	sampling->live = live.samples;
	sampling->allocations = weight_bounds(process->totals.allocations, all->blocks_variance,
					      blocks_unit(sampling->mean, all));
	sampling->bytes_allocated =
		weight_bounds(process->totals.bytes_allocated, all->bytes_variance, mean);
	sampling->live_blocks = weight_bounds(process->live_blocks, live.blocks_variance,
					      blocks_unit(sampling->mean, &live));
	sampling->live_bytes = weight_bounds(process->live_bytes, live.bytes_variance, mean);
}

/* Returns the mean for which these calls were sampled; 0 if they were not. There are no samples if
 * every allocation was recorded. */
static uint64_t mean_of(const struct process *process, uint32_t sample)
{
	if (sample)
		return weight_mean(process->config, sample);
	return process->totals.allocations ? 0 : process->config->sample;
}

static void capture_sampling(const struct process *process, struct snapshot_sampling *sampling)
{
	const struct model_config *config = process->config;
	const struct weight_sum *sum = &process->totals.sampled;

	*sampling = (struct snapshot_sampling){.mean = mean_of(process, sum->last),
					       .least_mean = mean_of(process, sum->first),
					       .min_size = config->min_size,
					       .max_size = config->max_size,
					       .samples = sum->samples};
	if (sampling->mean)
		capture_bounds(process, sampling);
}

/* Counts frees of addresses that were not live, but cannot be called errors. */
static uint64_t uncertain_frees(const struct process *process)
{
	const struct sanity *sanity = &process->sanity;
	uint64_t uncertain = 0;

	for (size_t i = 0; i < sanity->errors.count; i++) {
		const struct sanity_error *error = &sanity->errors.items[i];

		if (!sanity_is_certain(process, error->kind))
			uncertain += error->count;
	}
	return uncertain;
}

static void capture_losses(const struct process *process, struct snapshot_losses *losses)
{
	*losses = process_losses(process);
	snapshot_losses_add(losses, &process->found);
	losses->stacks += process->stacks.lost;
	losses->truncated_stacks += process->stacks.truncated;
	losses->unmatched_frees += uncertain_frees(process);
}

static int capture_scan(struct snapshot *snapshot, const struct process *process,
			struct snapshot_process *section)
{
	section->scan = process->scan;
	if (process->scan.done)
		return 0;
	return capture_text(snapshot, process->scan_reason, &section->scan.reason);
}

static void capture_frame(const struct mapping_index *index, const struct stack *stack,
			  uint64_t recorded, struct snapshot_frame *frame)
{
	uint64_t address = recorded & ~STACK_EXACT;
	const struct mapping *mapping = mapping_index_find(index, address, stack->clock);

	frame->address = address;
	frame->exact = recorded & STACK_EXACT;
	frame->module_id = mapping ? mapping->module : MODULE_NONE;
	if (frame->module_id != MODULE_NONE)
		frame->offset = address - mapping->start + mapping->offset;
}

static int capture_stack(struct snapshot *snapshot, const struct mapping_index *index,
			 const struct stack *stack, struct snapshot_stack *copy)
{
	/* Of wrappers that call each other, shows the one that the program called. */
	uint32_t hidden = stack->wrappers ? stack->wrappers - 1 : 0;

	copy->depth = stack->count;
	copy->frame_count = stack->count - hidden;
	copy->frames = snapshot_alloc(snapshot, copy->frame_count * sizeof(*copy->frames));
	if (!copy->frames)
		return -ENOMEM;
	copy->stop = stack->stop;
	copy->truncated = stack->truncated;
	copy->guessed = stack->guessed;
	for (uint32_t i = 0; i < copy->frame_count; i++)
		capture_frame(index, stack, stack->frames[hidden + i], &copy->frames[i]);
	if (copy->frame_count)
		copy->frames[0].wrapper = stack->wrapper != API_NONE;
	return 0;
}

static bool site_is_used(const struct site *site)
{
	return site->allocations || site->failed_allocations || site->inherited_blocks;
}

static void capture_ages(const struct process *process, const struct ages *ages,
			 struct snapshot_site *copy)
{
	copy->oldest_ns = ages->oldest_ns;
	copy->youngest_ns = ages->youngest_ns;
	if (ages->count)
		copy->mean_ns = process->origin_ns + ages->sum_ms * 1000000 / ages->count;
}

static int capture_growth(struct snapshot *snapshot, const struct process *process, uint32_t index,
			  uint64_t now_ns, struct snapshot_site *copy)
{
	const struct series *series = process_series(process, index);
	struct series *kept;

	if (!series)
		return 0;
	kept = snapshot_alloc(snapshot, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	*kept = *series;
	series_add(kept, process_tick(process, now_ns), copy->live_bytes);
	copy->series = kept;
	copy->growth = growth_of(series, process_tick(process, now_ns), copy->live_bytes);
	return 0;
}

static void capture_site(const struct site *site, struct snapshot_site *copy)
{
	copy->api = (enum api)site->api;
	copy->allocations = site->allocations;
	copy->frees = site->frees;
	copy->bytes_allocated = site->bytes_allocated;
	copy->inherited_blocks = site->inherited_blocks;
	copy->inherited_bytes = site->inherited_bytes;
	copy->live_blocks = site->live_blocks;
	copy->live_bytes = site->live_bytes;
	copy->peak_live_bytes = site->peak_live_bytes;
	copy->failed_allocations = site->failed_allocations;
	copy->mismatched = site->mismatched;
	copy->samples = site->samples;
	copy->first_seen_ns = site->first_seen_ns;
	copy->lifetimes = site->lifetimes;
}

/* The state of one capture of the sites and stacks of a process. */
struct capture {
	struct snapshot *snapshot;
	const struct process *process;
	struct snapshot_process *section;
	struct mapping_index index;
	struct ages *ages; /* by site */
	uint32_t *copies;  /* by stack: index of its copy in the section + 1, or 0 */
};

/* Returns the index of a stack's copy in the section; creates the copy when it is first needed. */
static int capture_stack_once(struct capture *capture, uint32_t stack, uint32_t *ret_copy)
{
	struct snapshot_process *section = capture->section;

	if (!capture->copies[stack]) {
		struct snapshot_stack *copy = &section->stacks[section->stack_count];

		if (capture_stack(capture->snapshot, &capture->index,
				  stack_at(&capture->process->stacks, stack), copy))
			return -ENOMEM;
		copy->id = (uint32_t)section->stack_count++;
		capture->copies[stack] = copy->id + 1;
	}
	*ret_copy = capture->copies[stack] - 1;
	return 0;
}

/* Upper bound of the number of stacks in errors, besides those of sites. */
static size_t error_stacks(const struct process *process)
{
	return 2 * process->sanity.errors.count;
}

static int capture_sites(struct capture *capture)
{
	struct snapshot_process *section = capture->section;
	const struct process *process = capture->process;
	size_t count = process->sites.count;

	section->sites = snapshot_alloc(capture->snapshot, count * sizeof(*section->sites));
	section->stacks = snapshot_alloc(capture->snapshot, (count + error_stacks(process)) *
								    sizeof(*section->stacks));
	if (!section->sites || !section->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct site site = process_site_view(process, (uint32_t)i);
		struct snapshot_site *copy = &section->sites[section->site_count];

		if (!site_is_used(&site))
			continue;
		if (capture_stack_once(capture, site.stack, &copy->stack))
			return -ENOMEM;
		capture_site(&site, copy);
		copy->at_peak_bytes = process_at_peak(process, &site);
		capture_ages(process, &capture->ages[i], copy);
		if (capture_growth(capture->snapshot, process, (uint32_t)i,
				   section->traced_until_ns, copy))
			return -ENOMEM;
		copy->other = stack_at(&process->stacks, site.stack)->other;
		if (i < process->leak_count)
			copy->leaks = process->leaks[i];
		if (sanity_is_certain(process, SANITY_DOUBLE_FREE))
			copy->bad_frees = site.bad_frees;
		copy->id = (uint32_t)i;
		section->site_count++;
	}
	return 0;
}

/* STACK_NONE becomes INDEX_NONE. */
static int capture_stack_of_error(struct capture *capture, uint32_t stack, uint32_t *ret_copy)
{
	*ret_copy = INDEX_NONE;
	return stack == STACK_NONE ? 0 : capture_stack_once(capture, stack, ret_copy);
}

static int capture_error(struct capture *capture, const struct sanity_error *error,
			 struct snapshot_error *copy)
{
	const struct site *site = NULL;

	if (error->site != SITE_NONE)
		site = process_site_at(capture->process, error->site);
	*copy = (struct snapshot_error){
		.kind = error->kind,
		.count = error->count,
		.api = (enum api)error->api,
		.allocated_by = site ? (enum api)site->api : API_NONE,
		.freed_by = (enum api)error->freed_by,
		.site = site ? error->site : INDEX_NONE,
		.address = error->address,
		.size = error->size,
		.passed_size = error->passed_size,
		.first_seen_ns = error->first_seen_ns,
	};
	if (capture_stack_of_error(capture, site ? site->stack : STACK_NONE, &copy->allocated_at) ||
	    capture_stack_of_error(capture, error->freed_at, &copy->freed_at) ||
	    capture_stack_of_error(capture, error->freed_again_at, &copy->freed_again_at))
		return -ENOMEM;
	return 0;
}

static void capture_block(void *ctx, const struct block *block)
{
	struct capture *capture = ctx;
	struct snapshot_process *section = capture->section;

	if (block->site == SITE_NONE)
		return;
	section->blocks[section->block_count++] = (struct snapshot_block){
		.address = block->address,
		.size = block->size,
		.stack =
			capture->copies[process_site_view(capture->process, block->site).stack] - 1,
	};
}

static int compare_blocks(const void *a, const void *b)
{
	const struct snapshot_block *left = a, *right = b;

	return (left->address > right->address) - (left->address < right->address);
}

static int capture_blocks(struct capture *capture)
{
	const struct process *process = capture->process;
	struct snapshot_process *section = capture->section;

	if (!process->config->lists_blocks || !process->heap.count)
		return 0;
	section->blocks =
		snapshot_alloc(capture->snapshot, process->heap.count * sizeof(*section->blocks));
	if (!section->blocks)
		return -ENOMEM;
	heap_visit(&process->heap, capture_block, capture);
	qsort(section->blocks, section->block_count, sizeof(*section->blocks), compare_blocks);
	return 0;
}

static int compare_errors(const void *a, const void *b)
{
	const struct snapshot_error *left = a, *right = b;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return (left->first_seen_ns > right->first_seen_ns) -
	       (left->first_seen_ns < right->first_seen_ns);
}

static int capture_errors(struct capture *capture)
{
	const struct process *process = capture->process;
	struct snapshot_process *section = capture->section;
	const struct sanity_error *error;

	section->errors = snapshot_alloc(capture->snapshot,
					 process->sanity.errors.count * sizeof(*section->errors));
	if (!section->errors)
		return -ENOMEM;
	vec_each (error, &process->sanity.errors) {
		if (!sanity_is_certain(process, error->kind))
			continue;
		if (capture_error(capture, error, &section->errors[section->error_count]))
			return -ENOMEM;
		section->error_count++;
	}
	if (section->error_count)
		qsort(section->errors, section->error_count, sizeof(*section->errors),
		      compare_errors);
	return 0;
}

static void capture_sanity(const struct process *process, struct snapshot_process *section)
{
	const struct sanity_error *error;

	section->sanity.done = process->config->sanity;
	section->sanity.unlisted = section->sanity.errors = process->sanity.more;
	section->sanity.uncertain = uncertain_frees(process);
	vec_each (error, &process->sanity.errors)
		if (sanity_is_certain(process, error->kind))
			section->sanity.errors += error->count;
}

static uint64_t count_other_calls(const struct process *process)
{
	uint64_t calls = 0;
	uint32_t site = SITE_NONE;

	if (process->stacks.other)
		site = stack_at(&process->stacks, process->stacks.other - 1)->site;
	for (; site != SITE_NONE; site = process_site_at(process, site)->next) {
		struct site view = process_site_view(process, site);

		calls += view.allocations + view.failed_allocations;
	}
	return calls;
}

void capture_sums(const struct process *process, struct snapshot_process *section)
{
	*section = (struct snapshot_process){
		.replaced = process->replaced, .left = process->left, .scan = process->scan};
	section->other_calls = count_other_calls(process);
	capture_totals(process, section);
	capture_losses(process, &section->losses);
	capture_sanity(process, section);
}

int capture_process(struct snapshot *snapshot, const struct process *process, uint64_t now_ns,
		    struct snapshot_process *section)
{
	struct capture capture = {.snapshot = snapshot, .process = process, .section = section};
	int err = capture_identity(snapshot, process, now_ns, section);

	if (err)
		return err;
	capture_totals(process, section);
	capture_losses(process, &section->losses);
	capture_sanity(process, section);
	capture_sampling(process, &section->sampling);
	section->other_calls = count_other_calls(process);
	err = capture_scan(snapshot, process, section);
	if (err)
		return err;
	capture.copies = calloc(process->stacks.items.count + 1, sizeof(*capture.copies));
	err = capture.copies ? 0 : -ENOMEM;
	if (!err)
		err = mapping_index_new(&capture.index, &process->mappings);
	if (!err)
		err = process_ages(process, &capture.ages);
	if (!err)
		err = capture_sites(&capture);
	if (!err)
		err = capture_errors(&capture);
	if (!err)
		err = capture_blocks(&capture);
	mapping_index_free(&capture.index);
	free(capture.ages);
	free(capture.copies);
	return err;
}
