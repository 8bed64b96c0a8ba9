/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/session/period.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

static uint64_t key_of(const struct snapshot_process *process, const struct snapshot_site *site)
{
	const uint64_t parts[] = {process->pid, process->start_time_ns, process->image, site->id};

	return hash_bytes(parts, sizeof(parts));
}

static uint64_t change_of(const struct snapshot_site *site)
{
	return site->live_bytes > site->before.bytes ? site->live_bytes - site->before.bytes
						     : site->before.bytes - site->live_bytes;
}

static int compare_changes(const void *a, const void *b)
{
	const struct snapshot_site *left = *(struct snapshot_site *const *)a;
	const struct snapshot_site *right = *(struct snapshot_site *const *)b;
	uint64_t left_change = change_of(left), right_change = change_of(right);

	if (left_change != right_change)
		return left_change < right_change ? 1 : -1;
	return (left->id > right->id) - (left->id < right->id);
}

/* Chooses the sites that changed most. */
static int choose(struct snapshot_process *process)
{
	struct snapshot_site **changed = calloc(process->site_count + 1, sizeof(*changed));
	size_t count = 0;

	if (!changed)
		return -ENOMEM;
	for (size_t i = 0; i < process->site_count; i++)
		if (change_of(&process->sites[i]))
			changed[count++] = &process->sites[i];
	if (count)
		qsort(changed, count, sizeof(*changed), compare_changes);
	for (size_t i = 0; i < count && i < PERIOD_SHOWN; i++)
		changed[i]->reported_change = true;
	free(changed);
	return 0;
}

int period_compare(const struct period *period, struct snapshot *snapshot)
{
	int code = 0;

	if (!period->taken_ns)
		return 0;
	snapshot->before_ns = period->taken_ns;
	snapshot->before_bytes = period->bytes;
	for (size_t i = 0; i < snapshot->process_count && !code; i++) {
		struct snapshot_process *process = &snapshot->processes[i];

		for (size_t j = 0; j < process->site_count; j++) {
			struct snapshot_site *site = &process->sites[j];
			uint32_t found = map64_get(&period->index, key_of(process, site));

			if (found != MAP64_NONE)
				site->before = period->sums.items[found];
		}
		code = choose(process);
	}
	return code;
}

static int remember_process(struct period *period, const struct snapshot_process *process)
{
	for (size_t i = 0; i < process->site_count; i++) {
		const struct snapshot_site *site = &process->sites[i];
		struct snapshot_sum sum = {site->live_blocks, site->live_bytes};

		if (site->live_blocks && (vec_push(&period->sums, sum) ||
					  map64_set(&period->index, key_of(process, site),
						    (uint32_t)period->sums.count - 1)))
			return -ENOMEM;
	}
	period->bytes += process->live.bytes;
	return 0;
}

int period_remember(struct period *period, const struct snapshot *snapshot)
{
	int code = 0;

	period_free(period);
	for (size_t i = 0; i < snapshot->process_count && !code; i++)
		code = remember_process(period, &snapshot->processes[i]);
	if (code)
		period_free(period);
	else
		period->taken_ns = snapshot->taken_ns;
	return code;
}

void period_free(struct period *period)
{
	map64_free(&period->index);
	vec_free(&period->sums);
	*period = (struct period){0};
}
