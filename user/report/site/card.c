// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/site/card.h"

#include <stdio.h>

#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/frame.h"
#include "report/common/page.h"
#include "report/common/process.h"
#include "report/common/suspect_words.h"
#include "report/site/table.h"

#define VALUE_COLUMN 12
#define ITEM_SIZE    (AMOUNT_SIZE * 2)

static void put_label(struct page *page, const char *label)
{
	page_to(page, TEXT_INDENT);
	page_text(page, STYLE_QUIET, label);
	page_to(page, VALUE_COLUMN);
}

static void put_item(struct page *page, enum style style, const char *item)
{
	page_item(page, style, VALUE_COLUMN, page_symbol(page, SYMBOL_SEPARATOR), item);
}

static void put_heading(struct page *page, const struct snapshot_process *process,
			const struct snapshot_site *site)
{
	page_format(page, STYLE_STRONG, "Site %u", site->id);
	page_format(page, STYLE_PLAIN, "%s%s in ", page_symbol(page, SYMBOL_SEPARATOR),
		    api_name(site->api));
	page_name(page, STYLE_STRONG, process_name(process), NAME_COLUMNS);
	page_format(page, STYLE_PLAIN, " (%u)", process->pid);
	page_end(page);
}

static void put_live(struct page *page, const struct snapshot_site *site)
{
	char bytes[UNITS_TEXT_SIZE], text[AMOUNT_SIZE], item[ITEM_SIZE];

	put_label(page, "live");
	snprintf(item, sizeof(item), "%s in %s", bytes_format(site->live_bytes, bytes),
		 amount_of(site->live_blocks, "block", text));
	put_item(page, STYLE_STRONG, item);
	snprintf(item, sizeof(item), "peak %s", bytes_format(site->peak_live_bytes, bytes));
	put_item(page, STYLE_PLAIN, item);
	if (site->inherited_blocks) {
		snprintf(item, sizeof(item), "%s inherited",
			 amount_of(site->inherited_blocks, "block", text));
		put_item(page, STYLE_PLAIN, item);
	}
	page_end(page);
}

static void put_calls(struct page *page, const struct snapshot_site *site)
{
	char bytes[UNITS_TEXT_SIZE], text[AMOUNT_SIZE], item[ITEM_SIZE];
	uint64_t calls = site->allocations;

	put_label(page, "calls");
	put_item(page, STYLE_PLAIN, amount_of(calls, "allocation", text));
	put_item(page, STYLE_PLAIN, amount_of(site->frees, "free", text));
	snprintf(item, sizeof(item), "%s in total", bytes_format(site->bytes_allocated, bytes));
	put_item(page, STYLE_PLAIN, item);
	snprintf(item, sizeof(item), "%s on average",
		 bytes_format(calls ? site->bytes_allocated / calls : 0, bytes));
	put_item(page, STYLE_PLAIN, item);
	page_end(page);
}

static void put_times(struct page *page, const struct snapshot_process *process,
		      const struct snapshot_site *site, uint64_t now_ns)
{
	uint64_t until_ns = process->exited || process->left ? process->traced_until_ns : now_ns;
	char text[AMOUNT_SIZE], item[ITEM_SIZE];

	put_label(page, "age");
	if (site->live_blocks) {
		snprintf(item, sizeof(item), "oldest block %s",
			 amount_duration(amount_between(site->oldest_ns, until_ns), page->utf8,
					 text));
		put_item(page, STYLE_PLAIN, item);
	}
	if (site->youngest_ns && site->live_blocks > 1) {
		snprintf(item, sizeof(item), "youngest %s",
			 amount_duration(amount_between(site->youngest_ns, until_ns), page->utf8,
					 text));
		put_item(page, STYLE_PLAIN, item);
	}
	snprintf(item, sizeof(item), "first call %s ago",
		 amount_duration(amount_between(site->first_seen_ns, now_ns), page->utf8, text));
	put_item(page, STYLE_PLAIN, item);
	page_end(page);
}

/* The worst class first. */
static const enum leak_class scan_order[] = {LEAK_DEFINITE, LEAK_INDIRECT, LEAK_UNKNOWN,
					     LEAK_POSSIBLE, LEAK_STACK,    LEAK_REACHABLE};

_Static_assert(sizeof(scan_order) / sizeof(scan_order[0]) == LEAK_CLASS_COUNT, "every class");

static void put_scan(struct page *page, const struct snapshot_process *process,
		     const struct snapshot_site *site, uint64_t now_ns)
{
	char bytes[UNITS_TEXT_SIZE], text[AMOUNT_SIZE], item[ITEM_SIZE];

	if (!process->scan.done)
		return;
	put_label(page, "scan");
	for (size_t i = 0; i < LEAK_CLASS_COUNT; i++) {
		enum leak_class leak = scan_order[i];
		const struct snapshot_sum *sum = &site->leaks.classes[leak];
		bool lost = leak == LEAK_DEFINITE || leak == LEAK_INDIRECT;

		if (!sum->blocks)
			continue;
		snprintf(item, sizeof(item), "%s %s in %s", leak_class_words(leak),
			 bytes_format(sum->bytes, bytes), amount_of(sum->blocks, "block", text));
		put_item(page, lost ? STYLE_WARNING : STYLE_PLAIN, item);
	}
	snprintf(item, sizeof(item), "%s ago",
		 amount_duration(amount_between(process->scan.taken_ns, now_ns), page->utf8, text));
	put_item(page, STYLE_QUIET, item);
	page_end(page);
}

/* Lifetimes of the freed blocks, and the share of temporary ones. */
static void put_lives(struct page *page, const struct snapshot_site *site)
{
	const struct lifetimes *lifetimes = &site->lifetimes;
	char text[AMOUNT_SIZE], item[ITEM_SIZE];
	uint64_t mean_ms;

	if (!lifetimes->count)
		return;
	mean_ms = lifetimes->sum_ms / lifetimes->count;
	put_label(page, "lifetime");
	snprintf(item, sizeof(item), "%s on average",
		 amount_duration(mean_ms * 1000000, page->utf8, text));
	put_item(page, STYLE_PLAIN, item);
	snprintf(item, sizeof(item), "at least %s",
		 amount_duration(lifetimes->min_ms * 1000000ULL, page->utf8, text));
	put_item(page, STYLE_PLAIN, item);
	snprintf(item, sizeof(item), "at most %s",
		 amount_duration(lifetimes->max_ms * 1000000ULL, page->utf8, text));
	put_item(page, STYLE_PLAIN, item);
	if (lifetimes->temporary) {
		snprintf(item, sizeof(item), "%s temporary",
			 amount_share(lifetimes->temporary, site->allocations, text));
		put_item(page, STYLE_PLAIN, item);
	}
	page_end(page);
}

static void put_growth(struct page *page, const struct snapshot_process *process,
		       const struct snapshot_site *site)
{
	char text[SUSPECT_SIZE];

	if (!site->growth.grows)
		return;
	put_label(page, "growth");
	page_sentence(page, STYLE_WARNING, VALUE_COLUMN,
		      suspect_reasons(process, site, page->utf8, text));
}

static void put_troubles(struct page *page, const struct snapshot_site *site)
{
	const struct {
		uint64_t count;
		const char *words;
	} troubles[] = {{site->failed_allocations, "failed"},
			{site->mismatched, "mismatched"},
			{site->bad_frees, "freed twice"}};
	char number[UNITS_TEXT_SIZE], item[ITEM_SIZE];

	if (!site->failed_allocations && !site->mismatched && !site->bad_frees)
		return;
	put_label(page, "trouble");
	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
		if (!troubles[i].count)
			continue;
		snprintf(item, sizeof(item), "%s %s", count_format(troubles[i].count, number),
			 troubles[i].words);
		put_item(page, STYLE_WARNING, item);
	}
	page_end(page);
}

void site_card_write(struct page *page, const struct snapshot_process *process,
		     const struct snapshot_site *site, const struct site_table_options *look,
		     bool long_frames)
{
	put_heading(page, process, site);
	put_live(page, site);
	put_calls(page, site);
	put_times(page, process, site, look->now_ns);
	put_lives(page, site);
	put_growth(page, process, site);
	put_scan(page, process, site, look->now_ns);
	put_troubles(page, site);
	page_end(page);
	if (site->other)
		put_label(page, "(all sites beyond the limit)");
	else
		stack_write(page, site_stack(process, site), TEXT_INDENT, long_frames);
	if (site->other)
		page_end(page);
}
