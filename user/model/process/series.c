/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A site has a series if it has live blocks when a tick ends. The series is created when the site
 * changes in a later tick. So there is none for sites that allocate and free immediately, nor for
 * those that allocate once and never again, which do not grow.
 */
#include "model/process/series.h"

#include <stdlib.h>

#include "model/process/state.h"
#include "model/site/growth.h"

static struct series *series_make(struct process *process, uint32_t index, uint32_t from)
{
	struct series_budget *budget = process->config->series;
	struct series *series;

	if (!budget || budget->used >= budget->max) {
		if (budget)
			budget->refused++;
		return NULL;
	}
	while (process->series.count <= index)
		if (vec_push(&process->series, NULL))
			return NULL;
	series = calloc(1, sizeof(*series));
	if (!series)
		return NULL;
	series->from = from;
	budget->used++;
	return process->series.items[index] = series;
}

static void series_drop(struct process *process, uint32_t index)
{
	if (!process->series.items[index])
		return;
	process->config->series->used--;
	free(process->series.items[index]);
	process->series.items[index] = NULL;
}

const struct series *process_series(const struct process *process, uint32_t index)
{
	return index < process->series.count ? process->series.items[index] : NULL;
}

/* A series is optional: without memory, there is none. */
void process_note(struct process *process, uint32_t index, struct site *site)
{
	struct series *series = (struct series *)process_series(process, index);

	if (!series && site->live_bytes)
		series = series_make(process, index, site->tick);
	if (series)
		series_add(series, process->tick, site->live_bytes);
	site->tick = process->tick;
}

int process_enter_series(struct process *process, uint32_t index, const struct series *series)
{
	struct series_budget *budget = process->config->series;
	uint64_t refused = budget->refused;
	struct series *own = series_make(process, index, series->from);

	if (!own && budget->refused == refused)
		return -ENOMEM;
	budget->refused = refused; /* keep the saved count */
	if (own)
		*own = *series;
	return 0;
}

void process_settle_series(struct process *process)
{
	uint32_t now = process_tick(process, process->until_ns);

	for (uint32_t i = 0; i < process->series.count; i++) {
		struct series *series = process->series.items[i];

		if (series &&
		    !growth_of(series, now, process_site_view(process, i).live_bytes).grows)
			series_drop(process, i);
	}
}

void process_free_series(struct process *process)
{
	for (uint32_t i = 0; i < process->series.count; i++)
		series_drop(process, i);
	vec_free(&process->series);
}
