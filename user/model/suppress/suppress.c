/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/suppress/suppress.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "model/suppress/match.h"
#include "model/suppress/rule.h"

struct suppressions *suppressions_new(void)
{
	return calloc(1, sizeof(struct suppressions));
}

void suppressions_free(struct suppressions *suppressions)
{
	struct suppression *suppression;

	if (!suppressions)
		return;
	vec_each (suppression, &suppressions->items)
		suppression_free(suppression);
	vec_free(&suppressions->items);
	free(suppressions);
}

size_t suppressions_mangled(const struct suppressions *suppressions)
{
	return suppressions->mangled;
}

static void sum_move(struct snapshot_sum *from, struct snapshot_sum *to,
		     const struct snapshot_sum *sum)
{
	from->blocks -= sum->blocks;
	from->bytes -= sum->bytes;
	to->blocks += sum->blocks;
	to->bytes += sum->bytes;
}

/* Returns the classes in which the site has blocks to suppress. */
static uint32_t excusable(const struct snapshot_site *site, uint32_t classes)
{
	uint32_t some = 0;

	for (int leak = 0; leak < LEAK_CLASS_COUNT; leak++)
		if (classes & 1u << leak && site->leaks.classes[leak].blocks)
			some |= 1u << leak;
	return some;
}

static void excuse(struct snapshot_scan *scan, struct snapshot_leaks *leaks, uint32_t classes)
{
	for (int leak = 0; leak < LEAK_CLASS_COUNT; leak++) {
		struct snapshot_sum sum = leaks->classes[leak];

		if (!(classes & 1u << leak))
			continue;
		sum_move(&scan->classes[leak], &scan->suppressed, &sum);
		sum_move(&leaks->classes[leak], &leaks->suppressed, &sum);
	}
}

/* Returns 1 if it suppresses anything of the site, 0 or -ENOMEM. */
static int apply_to_site(const struct suppression *suppression, uint32_t wanted,
			 struct snapshot *snapshot, struct snapshot_process *process,
			 struct snapshot_site *site)
{
	uint32_t classes = excusable(site, suppression->classes & wanted);
	const char *name = site->leaks.suppressed_by;

	if (!classes || site->stack >= process->stack_count ||
	    !suppression_matches(suppression, site, &process->stacks[site->stack]))
		return 0;
	if (!name)
		name = snapshot_string(snapshot, suppression->name);
	if (!name)
		return -ENOMEM;
	site->leaks.suppressed_by = name;
	excuse(&process->scan, &site->leaks, classes);
	return 1;
}

/* Applies all suppressions in the order in which they were given. Returns the same as
 * apply_to_site. */
static int apply_all(const struct suppressions *suppressions, uint32_t classes,
		     struct snapshot *snapshot, struct snapshot_process *process,
		     struct snapshot_site *site)
{
	const struct suppression *suppression;
	int some = 0;

	vec_each (suppression, &suppressions->items) {
		int code = apply_to_site(suppression, classes, snapshot, process, site);

		if (code < 0)
			return code;
		some |= code;
	}
	return some;
}

int suppressions_apply(const struct suppressions *suppressions, uint32_t classes,
		       struct snapshot *snapshot)
{
	int sites = 0;

	for (size_t i = 0; i < snapshot->process_count; i++) {
		struct snapshot_process *process = &snapshot->processes[i];

		for (size_t j = 0; process->scan.done && j < process->site_count; j++) {
			int code = apply_all(suppressions, classes, snapshot, process,
					     &process->sites[j]);

			if (code < 0)
				return code;
			sites += code && sites < INT_MAX;
		}
	}
	return sites;
}
