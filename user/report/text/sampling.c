/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What --sample, --min-size and --max-size left out, and the accuracy of the estimates. */
#include "report/text/sampling.h"

#include <stdio.h>

#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/page.h"
#include "report/text/note.h"
#include "report/text/view.h"

#define SENTENCE_SIZE   512
#define PPM_PER_PERCENT 10000.0

struct bounds_text {
	char text[2 * UNITS_TEXT_SIZE + 8];
};

static const char *bounds_bytes(const struct snapshot_bounds *bounds, struct bounds_text *ret)
{
	char low[UNITS_TEXT_SIZE], high[UNITS_TEXT_SIZE];

	snprintf(ret->text, sizeof(ret->text), "%s to %s", bytes_format(bounds->low, low),
		 bytes_format(bounds->high, high));
	return ret->text;
}

static const char *bounds_blocks(const struct snapshot_bounds *bounds, struct bounds_text *ret)
{
	char low[UNITS_TEXT_SIZE], high[UNITS_TEXT_SIZE];

	snprintf(ret->text, sizeof(ret->text), "%s to %s", count_format(bounds->low, low),
		 count_format(bounds->high, high));
	return ret->text;
}

/* "≈ estimated from 812 samples, one per 512.0 KiB: …" */
static void write_estimate(struct page *page, const struct snapshot_sampling *sampling)
{
	struct bounds_text live = {""}, live_blocks = {""}, bytes = {""}, blocks = {""};
	char sentence[SENTENCE_SIZE], mean[UNITS_TEXT_SIZE], samples[AMOUNT_SIZE],
		least[UNITS_TEXT_SIZE];
	bool varies = sampling->least_mean < sampling->mean;

	snprintf(sentence, sizeof(sentence),
		 "%s estimated from %s, one per %s%s%s; with 95%% confidence, %s are live in %s "
		 "blocks, and %s were allocated in %s",
		 page->utf8 ? "≈" : "~", amount_of(sampling->samples, "sample", samples),
		 varies ? bytes_format(sampling->least_mean, least) : "", varies ? " to " : "",
		 bytes_format(sampling->mean, mean), bounds_bytes(&sampling->live_bytes, &live),
		 bounds_blocks(&sampling->live_blocks, &live_blocks),
		 bounds_bytes(&sampling->bytes_allocated, &bytes),
		 bounds_blocks(&sampling->allocations, &blocks));
	page_to(page, TEXT_INDENT);
	page_sentence(page, STYLE_STRONG, TEXT_INDENT, sentence);
}

/* "1,234 allocations below 64 B or above 1.0 MiB were not traced" */
static void write_filtered(struct page *page, const struct snapshot_process *process)
{
	const struct snapshot_sampling *sampling = &process->sampling;
	char sentence[SENTENCE_SIZE], count[AMOUNT_SIZE], low[UNITS_TEXT_SIZE],
		high[UNITS_TEXT_SIZE];

	snprintf(sentence, sizeof(sentence), "%s %s%s%s%s%s %s not traced",
		 amount_of(process->losses.filtered, "allocation", count),
		 sampling->min_size ? "below " : "",
		 sampling->min_size ? bytes_format(sampling->min_size, low) : "",
		 sampling->min_size && sampling->max_size ? " or " : "",
		 sampling->max_size ? "above " : "",
		 sampling->max_size ? bytes_format(sampling->max_size, high) : "",
		 process->losses.filtered == 1 ? "was" : "were");
	page_to(page, TEXT_INDENT);
	page_sentence(page, STYLE_QUIET, TEXT_INDENT, sentence);
}

static void write_cost(struct page *page, const struct snapshot_overhead *overhead)
{
	char sentence[SENTENCE_SIZE], mean[UNITS_TEXT_SIZE], changes[AMOUNT_SIZE];

	if (overhead->measured)
		snprintf(
			sentence, sizeof(sentence),
			"tracing took %.1f%% of the traced processes' CPU time (limit %.1f%%); now "
			"tracing %s%s, after %s",
			(double)overhead->cost_ppm / PPM_PER_PERCENT,
			(double)overhead->budget_ppm / PPM_PER_PERCENT,
			overhead->mean ? "one allocation per " : "all allocations",
			overhead->mean ? bytes_format(overhead->mean, mean) : "",
			amount_of(overhead->changes, "change", changes));
	else
		snprintf(sentence, sizeof(sentence),
			 "the overhead of tracing (limit %.1f%%) was not measured: too little "
			 "activity",
			 (double)overhead->budget_ppm / PPM_PER_PERCENT);
	page_sentence(page, STYLE_QUIET, 0, sentence);
}

void text_overhead(struct page *page, const struct snapshot *snapshot)
{
	const struct snapshot_overhead *overhead = &snapshot->overhead;
	char sentence[SENTENCE_SIZE];

	if (!overhead->budget_ppm)
		return;
	page_end(page);
	write_cost(page, overhead);
	if (!overhead->hopeless)
		return;
	snprintf(sentence, sizeof(sentence),
		 "--max-overhead cannot be met: the probes alone take %.1f%%, however few calls "
		 "are sampled",
		 (double)overhead->floor_ppm / PPM_PER_PERCENT);
	text_loss(page, sentence);
}

void text_limit(struct page *page, const struct snapshot *snapshot)
{
	const struct snapshot_limit *limit = &snapshot->tool.limit;
	char sentence[SENTENCE_SIZE], bytes[UNITS_TEXT_SIZE], mean[UNITS_TEXT_SIZE],
		since[UNITS_TEXT_SIZE];
	uint64_t most = snapshot->tool.max_bytes;

	if (!limit->mean)
		return;
	snprintf(sentence, sizeof(sentence),
		 "%s%s: for the last %s, new blocks were sampled, now one per %s%s",
		 most ? "the memory of this tracer is limited to " : "memory is short",
		 most ? bytes_format(most, bytes) : "",
		 duration_format(snapshot->taken_ns - limit->since_ns, since),
		 bytes_format(limit->mean, mean),
		 limit->sites ? "; calls from new sites are summed up as \"other\"" : "");
	page_end(page);
	text_loss(page, sentence);
}

void text_sampling(const struct view *view)
{
	const struct snapshot_sampling *sampling = &view->process->sampling;

	if (sampling->mean)
		write_estimate(view->page, sampling);
	if (sampling->min_size || sampling->max_size)
		write_filtered(view->page, view->process);
}
