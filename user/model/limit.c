/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/limit.h"

#include <stdlib.h>

#include "model/parts.h"
#include "model/process/process.h"
#include "model/snapshot/capture.h"

/* Calls between two measurements, which visit the blocks in large pieces. */
#define CALLS_LEAST    4096
#define CALL_PER_BYTES 2048
#define CLOSED_LEAST   16 /* closed processes that are always kept */
#define LEVELS         16 /* of sampling, from where it starts up to the limit … */
#define LEVELS_AT_ONCE 2  /* … and added by one measurement */

/* Removes the holes, keeping the order. Does nothing if out of memory. */
static void compact(struct model *model)
{
	uint32_t *moved = calloc(model->processes.count + 1, sizeof(*moved)), kept = 0;

	if (!moved)
		return;
	for (size_t i = 0; i < model->processes.count; i++) {
		moved[i] = kept;
		if (model->processes.items[i])
			model->processes.items[kept++] = model->processes.items[i];
	}
	for (size_t i = 0; model->by_pid.entries && i <= model->by_pid.mask; i++) {
		struct map64_entry *entry = &model->by_pid.entries[i];

		if (entry->value != MAP64_NONE)
			entry->value = moved[entry->value];
	}
	model->processes.count = kept;
	model->holes = 0;
	free(moved);
}

/* Finds the least important closed process; among equals, the oldest. */
static size_t least_important(const struct model *model)
{
	struct snapshot_process least = {0}, sums;
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < model->processes.count; i++) {
		const struct process *process = model->processes.items[i];

		if (!process || !process->closed)
			continue;
		capture_sums(process, &sums);
		if (found != SIZE_MAX && snapshot_compare(&sums, &least) >= 0)
			continue;
		found = i;
		least = sums;
	}
	return found;
}

static bool is_crowded(const struct model *model)
{
	return model->closed > model->config.max_closed ||
	       model->closed_sites > model->config.max_closed_sites;
}

void limit_closed(struct model *model)
{
	struct snapshot_process sums;

	while (model->closed && is_crowded(model)) {
		struct process **least = &model->processes.items[least_important(model)];

		capture_sums(*least, &sums);
		snapshot_others_add(&model->others, &sums);
		model->closed--;
		model->closed_sites -= (*least)->sites.count;
		process_free(*least);
		*least = NULL;
		model->holes++;
	}
	if (model->holes > model->processes.count / 2)
		compact(model);
}

/* A part that several processes share counts once. */
static uint64_t memory_used(const struct model *model)
{
	uint64_t bytes = (uint64_t)model->series.used * sizeof(struct series);
	struct process *const *process;

	vec_each (process, &model->processes)
		if (*process)
			bytes += heap_own_bytes(&(*process)->heap) +
				 cow_own_bytes(&(*process)->sites, sizeof(struct site)) +
				 stacks_own_bytes(&(*process)->stacks);
	return bytes;
}

/* Keeps only half of the processes that have ended. */
static void merge_closed(struct model *model)
{
	if (model->closed <= CLOSED_LEAST)
		return;
	model->config.max_closed = (uint32_t)(model->closed / 2);
	limit_closed(model);
}

/*
 * Each level doubles the mean, so it halves the number of small blocks that are added. Levels are
 * added slowly: the effect of one shows only at the next measurement, and samples that are too few
 * say nothing.
 */
static void sample_more(struct model *model, uint64_t excess, uint64_t now_ns)
{
	uint64_t sample = 1 + excess / (model->config.max_bytes / 4 / LEVELS);
	uint64_t most = model->config.limit_sample + LEVELS_AT_ONCE;

	most = most < LEVELS ? most : LEVELS;
	sample = sample < most ? sample : most;
	if (sample <= model->config.limit_sample)
		return;
	if (!model->config.limit_sample)
		model->limit.since_ns = now_ns;
	model->config.limit_sample = (uint32_t)sample;
	model->limit.mean = weight_mean(&model->config, (uint32_t)sample);
}

/* From here on, calls from new sites belong to the site `other`. */
static void keep_sites(struct model *model)
{
	struct process *const *process;
	size_t most = 1;

	if (model->limit.sites)
		return;
	model->limit.sites = true;
	vec_each (process, &model->processes)
		if (*process && (*process)->sites.count > most)
			most = (*process)->sites.count;
	model->config.max_sites = (uint32_t)most;
	vec_each (process, &model->processes)
		if (*process)
			(*process)->stacks.max = (uint32_t)most;
}

void limit_memory(struct model *model, uint64_t now_ns)
{
	uint64_t most = model->config.max_bytes, used;

	if (!most || ++model->calls < model->check_at)
		return;
	used = memory_used(model);
	model->check_at = model->calls + CALLS_LEAST + used / CALL_PER_BYTES;
	if (used > most / 2)
		merge_closed(model);
	if (used > most / 4 * 3)
		sample_more(model, used - most / 4 * 3, now_ns);
	if (used > most / 8 * 7)
		keep_sites(model);
}
