// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/common/suspect_words.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "model/snapshot/suspect.h"
#include "report/common/amount.h"

#define RATE_LEAST 10240.0

/* Uses the smallest unit of time that gives a readable number. */
const char *growth_rate(double bytes_per_second, char text[RATE_SIZE])
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"day", 86400}};
	char bytes[UNITS_TEXT_SIZE];
	size_t i = 0;

	/* Per second only for fast growth. */
	if (bytes_per_second < 100 * RATE_LEAST)
		i = 1;
	while (i < 3 && bytes_per_second * units[i].seconds < RATE_LEAST)
		i++;
	snprintf(text, RATE_SIZE, "%s/%s",
		 bytes_format((uint64_t)(bytes_per_second * units[i].seconds), bytes),
		 units[i].unit);
	return text;
}

static void add(char text[SUSPECT_SIZE], const char *reason)
{
	size_t used = strlen(text);

	snprintf(text + used, SUSPECT_SIZE - used, "%s%s", used ? "; " : "", reason);
}

static void add_growth(const struct growth *growth, bool utf8, char text[SUSPECT_SIZE])
{
	char rate[RATE_SIZE], duration[AMOUNT_SIZE], reason[SUSPECT_SIZE / 2];

	snprintf(reason, sizeof(reason), "grows %s for %s (%s)", growth_rate(growth->slope, rate),
		 amount_duration(growth->ns, utf8, duration), growth_words(growth->certainty));
	add(text, reason);
}

static void add_frees(const struct snapshot_site *site, char text[SUSPECT_SIZE])
{
	uint64_t blocks = site->allocations + site->inherited_blocks;
	char amount[AMOUNT_SIZE], share[AMOUNT_SIZE], reason[SUSPECT_SIZE / 2];

	if (!site->frees)
		snprintf(reason, sizeof(reason), "none of its %s was ever freed",
			 amount_of(blocks, "block", amount));
	else
		snprintf(reason, sizeof(reason), "%s of its %s %s never freed",
			 amount_share(site->live_blocks, blocks, share),
			 amount_of(blocks, "block", amount),
			 site->live_blocks == 1 ? "was" : "were");
	add(text, reason);
}

static void add_scan(const struct snapshot_site *site, char text[SUSPECT_SIZE])
{
	const struct snapshot_sum *classes = site->leaks.classes;
	uint64_t definite = classes[LEAK_DEFINITE].blocks, lost = snapshot_leaked(classes).blocks;
	char number[UNITS_TEXT_SIZE], reason[SUSPECT_SIZE / 2];

	if (definite)
		snprintf(reason, sizeof(reason), "%s %s definite leak%s",
			 count_format(definite, number), definite == 1 ? "is a" : "are",
			 definite == 1 ? "" : "s");
	else if (lost)
		snprintf(reason, sizeof(reason), "%s %s leaked indirectly",
			 count_format(lost, number), lost == 1 ? "is" : "are");
	else if (classes[LEAK_REACHABLE].blocks >= site->live_blocks)
		snprintf(reason, sizeof(reason), "all live blocks are still referenced");
	else
		return;
	add(text, reason);
}

const char *suspect_reasons(const struct snapshot_process *process,
			    const struct snapshot_site *site, bool utf8, char text[SUSPECT_SIZE])
{
	text[0] = '\0';
	add_growth(&site->growth, utf8, text);
	add_frees(site, text);
	if (process->scan.done)
		add_scan(site, text);
	return text;
}
