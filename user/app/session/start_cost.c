/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/session/start_cost.h"

#include <stdio.h>

#include "base/units.h"

#define HIGH        0.05
#define WORTH       0.8  /* sampling is worth it if it saves a fifth of the cost */
#define EXAMPLE     0.03 /* the limit that the message and the README suggest */
#define SHARE_SIZE  16
#define ADVICE_SIZE 160
#define NS_PER_S    1e9

struct start_cost start_cost_of(const struct source_cost *window)
{
	double cpu = (double)window->cpu_ns, cost = (double)window->cost_ns,
	       floor = (double)window->floor_ns;

	if (cost > cpu)
		cost = cpu; /* the rates are not exact */
	if (floor > cost)
		floor = cost;
	return (struct start_cost){
		.all = cost / cpu,
		.sampled = floor > 0 ? floor / (cpu - cost + floor) : 0,
		.calls_per_s = window->wall_ns
				       ? (double)window->calls / (double)window->wall_ns * NS_PER_S
				       : 0,
		.of_all = window->of_all,
	};
}

bool start_cost_is_high(const struct start_cost *cost)
{
	return cost->all >= HIGH;
}

static const char *share_format(double share, char text[SHARE_SIZE])
{
	double percent = 100 * share;

	snprintf(text, SHARE_SIZE, percent < 10 ? "%.1f%%" : "%.0f%%", percent);
	return text;
}

/* "2.1 million", "340,000", "950": more digits would only be noise. */
static const char *rate_format(double rate, char text[UNITS_TEXT_SIZE])
{
	uint64_t unit = 1;

	if (rate >= 1e6) {
		snprintf(text, UNITS_TEXT_SIZE, "%.1f million", rate / 1e6);
		return text;
	}
	while (rate / (double)unit >= 100)
		unit *= 10;
	return count_format((uint64_t)(rate / (double)unit + 0.5) * unit, text);
}

static const char *advice(const struct start_cost *cost, char text[ADVICE_SIZE])
{
	char share[SHARE_SIZE];

	if (cost->complete)
		return " (trace fewer functions with --only)";
	if (cost->sampled > WORTH * cost->all)
		return "; sampling cannot reduce it much (trace fewer functions with --only)";
	snprintf(text, ADVICE_SIZE,
		 cost->samples ? "; sampling less can reduce it to %s at best"
		 : cost->sampled <= EXAMPLE
			 ? "; --max-overhead 3 keeps it at 3%%, --sample 512k takes %s at best"
			 : "; sampling can reduce it to %s at best, for example --sample 512k",
		 share_format(cost->sampled, share));
	return text;
}

const char *start_cost_text(const struct start_cost *cost, char text[START_COST_SIZE])
{
	char calls[UNITS_TEXT_SIZE], share[SHARE_SIZE], advised[ADVICE_SIZE];

	snprintf(text, START_COST_SIZE, "tracing takes %s of %s CPU time at %s calls/s%s",
		 share_format(cost->all, share),
		 cost->of_all ? "all processes'" : "the traced processes'",
		 rate_format(cost->calls_per_s, calls),
		 start_cost_is_high(cost) ? advice(cost, advised) : "");
	return text;
}
