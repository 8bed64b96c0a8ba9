/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/growth.h"

#include <stdio.h>

#include "model/snapshot/suspect.h"
#include "report/common/suspect_words.h"

#define SUSPECTS_MAX 20

static void put_decimal(struct json_writer *writer, const char *key, double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%.6f", value);
	json_put_literal(writer, key, text);
}

/*
 * Items are [until_ns, low, high]; each starts where the previous one ends. Only sites that grow
 * get this list.
 */
static void put_series(struct json_writer *writer, const struct snapshot_process *process,
		       const struct series *series)
{
	json_open_array(writer, "series", JSON_INLINE);
	for (uint32_t i = 0; i < series->count; i++) {
		json_open_array(writer, NULL, JSON_INLINE);
		json_put_number(writer, NULL,
				process->traced_since_ns + series->until[i] * SERIES_TICK_NS);
		json_put_number(writer, NULL, series->low[i]);
		json_put_number(writer, NULL, series->high[i]);
		json_close(writer);
	}
	json_close(writer);
}

static void put_lifetimes(struct json_writer *writer, const struct lifetimes *lifetimes)
{
	json_open_object(writer, "lifetimes", JSON_INLINE);
	json_put_number(writer, "count", lifetimes->count);
	json_put_number(writer, "temporary", lifetimes->temporary);
	json_put_number(writer, "min_ms", lifetimes->min_ms);
	json_put_number(writer, "mean_ms",
			lifetimes->count ? lifetimes->sum_ms / lifetimes->count : 0);
	json_put_number(writer, "max_ms", lifetimes->max_ms);
	json_open_array(writer, "histogram", JSON_INLINE);
	for (int i = 0; i < LIFETIME_BUCKETS && lifetimes->count; i++)
		json_put_number(writer, NULL, lifetimes->buckets[i]);
	json_close(writer);
	json_close(writer);
}

void json_put_growth(struct json_writer *writer, const struct snapshot_process *process,
		     const struct snapshot_site *site)
{
	const struct growth *growth = &site->growth;

	put_lifetimes(writer, &site->lifetimes);
	if (!growth->grows) {
		json_put_literal(writer, "growth", "null");
		return;
	}
	json_open_object(writer, "growth", JSON_INLINE);
	put_decimal(writer, "bytes_per_second", growth->slope);
	put_decimal(writer, "at_least", growth->slope_low);
	put_decimal(writer, "at_most", growth->slope_high);
	put_decimal(writer, "certainty", growth->certainty);
	json_put_number(writer, "for_ns", growth->ns);
	json_put_number(writer, "bytes", growth->bytes);
	if (site->series)
		put_series(writer, process, site->series);
	json_close(writer);
}

void json_put_suspects(struct json_writer *writer, const struct snapshot_process *process)
{
	const struct snapshot_site *sites[SUSPECTS_MAX];
	size_t count = suspects_find(process, sites, SUSPECTS_MAX);
	char text[SUSPECT_SIZE];

	json_open_array(writer, "suspects", JSON_LINES);
	for (size_t i = 0; i < count && i < SUSPECTS_MAX; i++) {
		json_open_object(writer, NULL, JSON_INLINE);
		json_put_number(writer, "site", sites[i]->id);
		json_put_string(writer, "reasons", suspect_reasons(process, sites[i], true, text));
		json_close(writer);
	}
	json_close(writer);
}
