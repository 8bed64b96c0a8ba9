/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/site/sites.h"

#include <stdio.h>

#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/frame.h"
#include "report/common/page.h"
#include "report/site/row.h"
#include "report/text/view.h"

struct family_words {
	const char *title;
	const char *noun;
};

static const struct family_words family_words[] = {
	[FAMILY_HEAP] = {"Heap", "block"},
	[FAMILY_MAP] = {"Mapped regions", "region"},
};

/* Words for the order of the sites: worst first, and worst last. */
static const char *const order_words[SORT_COUNT][2] = {
	[SORT_USAGE] = {"sorted by live bytes", "sorted by live bytes, worst last"},
	[SORT_ALLOCATIONS] = {"sorted by calls", "sorted by calls, worst last"},
	[SORT_TOTAL] = {"sorted by allocated bytes", "sorted by allocated bytes, worst last"},
	[SORT_AVERAGE] = {"sorted by average size", "sorted by average size, worst last"},
	[SORT_LEAKS] = {"sorted by leaked blocks", "sorted by leaked blocks, worst last"},
	[SORT_BYTES_LEAKED] = {"sorted by leaked bytes", "sorted by leaked bytes, worst last"},
	[SORT_AGE] = {"sorted by age", "sorted by age, oldest last"},
	[SORT_MISMATCHED] = {"sorted by mismatched frees",
			     "sorted by mismatched frees, worst last"},
	[SORT_BADFREE] = {"sorted by double frees", "sorted by double frees, worst last"},
	[SORT_TSC] = {"in order of appearance", "in reverse order of appearance"},
	[SORT_GROWTH] = {"sorted by growth", "sorted by growth, fastest last"},
};

static bool site_in(const struct snapshot_site *site, enum api_family family)
{
	return api_row(site->api)->family == family;
}

/* If the order is by live or leaked memory, some sites are noise. */
enum noise {
	NOISE_NONE,
	NOISE_IDLE,      /* no live blocks */
	NOISE_INHERITED, /* the live blocks are inherited: the parent's report shows them */
	NOISE_COUNT,
};

static enum noise site_noise(const struct view *view, const struct snapshot_site *site)
{
	enum sort_key sort = view->options->sort;

	if (sort != SORT_USAGE && sort != SORT_LEAKS && sort != SORT_BYTES_LEAKED)
		return NOISE_NONE;
	if (!site->live_blocks)
		return NOISE_IDLE;
	return snapshot_is_inherited(site) && !snapshot_leaked(site->leaks.classes).blocks
		       ? NOISE_INHERITED
		       : NOISE_NONE;
}

/* `rank` counts the sites of its family that are not noise. */
static bool site_below_top(const struct view *view, size_t rank)
{
	return view->options->top && rank >= view->options->top;
}

/* Which sites of a family are listed, and the column widths. */
struct listing {
	const struct family_words *words;
	enum api_family family;
	size_t sites, shown, below_top;
	size_t noise[NOISE_COUNT]; /* hidden sites, by reason */
	uint64_t live_bytes;       /* of all sites of the family */
	struct row_columns columns;
};

static struct row row_of(const struct listing *listing, const struct snapshot_site *site,
			 size_t rank)
{
	return (struct row){
		.rank = rank,
		.sum = {site->live_blocks, site->live_bytes},
		.whole = listing->live_bytes,
		.noun = listing->words->noun,
		.api = site->api,
	};
}

static void listing_add_shown(struct listing *listing, const struct page *page,
			      const struct snapshot_site *site)
{
	struct row row = row_of(listing, site, ++listing->shown);

	row_measure(&listing->columns, page, &row);
}

static struct listing listing_of(const struct view *view, enum api_family family)
{
	struct listing listing = {.words = &family_words[family], .family = family};

	for (size_t i = 0; i < view->process->site_count; i++) {
		const struct snapshot_site *site = &view->process->sites[i];
		enum noise noise = site_noise(view, site);

		if (!site_in(site, family))
			continue;
		listing.live_bytes += site->live_bytes;
		if (noise)
			listing.noise[noise]++;
		else if (site_below_top(view, listing.sites++))
			listing.below_top++;
		else
			listing_add_shown(&listing, view->page, site);
	}
	return listing;
}

static void write_title(const struct view *view, const struct listing *listing)
{
	struct page *page = view->page;
	size_t all = listing->shown + listing->below_top;
	char number[UNITS_TEXT_SIZE], sites[AMOUNT_SIZE], text[AMOUNT_SIZE * 2];

	page_text(page, STYLE_STRONG, listing->words->title);
	if (listing->below_top)
		snprintf(text, sizeof(text), "%s of %s", count_format(listing->shown, number),
			 amount_of(all, "site", sites));
	else
		amount_of(all, "site", text);
	page_item(page, STYLE_QUIET, TEXT_INDENT, page_symbol(page, SYMBOL_SEPARATOR), text);
	page_item(page, STYLE_QUIET, TEXT_INDENT, page_symbol(page, SYMBOL_SEPARATOR),
		  order_words[view->options->sort][view->options->worst_last]);
	page_end(page);
}

static uint64_t site_age(const struct view *view, const struct snapshot_site *site)
{
	uint64_t until = view->process->traced_until_ns;

	if (!until)
		until = view->snapshot->taken_ns;
	return amount_between(site->oldest_ns, until);
}

static void write_errors(const struct view *view, const struct snapshot_site *site)
{
	const char *separator = page_symbol(view->page, SYMBOL_SEPARATOR);
	char text[AMOUNT_SIZE], item[AMOUNT_SIZE * 2];

	if (site->mismatched) {
		snprintf(item, sizeof(item), "%s mismatched", count_format(site->mismatched, text));
		page_item(view->page, STYLE_WARNING, STACK_INDENT, separator, item);
	}
	if (site->bad_frees) {
		snprintf(item, sizeof(item), "%s freed twice", count_format(site->bad_frees, text));
		page_item(view->page, STYLE_WARNING, STACK_INDENT, separator, item);
	}
}

static void write_history(const struct view *view, const struct snapshot_site *site)
{
	struct page *page = view->page;
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);
	uint64_t calls = site->allocations, lost;
	char text[AMOUNT_SIZE], item[AMOUNT_SIZE * 2];

	if (view->options->ids) {
		snprintf(item, sizeof(item), "site %u", site->id);
		page_item(page, STYLE_PLAIN, STACK_INDENT, separator, item);
	}
	page_item(page, STYLE_QUIET, STACK_INDENT, separator, amount_of(calls, "call", text));
	snprintf(item, sizeof(item), "%s in total", bytes_format(site->bytes_allocated, text));
	page_item(page, STYLE_QUIET, STACK_INDENT, separator, item);
	snprintf(item, sizeof(item), "%s on average",
		 bytes_format(calls ? site->bytes_allocated / calls : 0, text));
	page_item(page, STYLE_QUIET, STACK_INDENT, separator, item);
	if (site->live_blocks) {
		snprintf(item, sizeof(item), "oldest %s",
			 amount_duration(site_age(view, site), page->utf8, text));
		page_item(page, STYLE_QUIET, STACK_INDENT, separator, item);
	}
	lost = snapshot_leaked(site->leaks.classes).blocks;
	if (lost) {
		snprintf(item, sizeof(item), "%s leaked", count_format(lost, text));
		page_item(page, STYLE_WARNING, STACK_INDENT, separator, item);
	}
	if (site->failed_allocations) {
		snprintf(item, sizeof(item), "%s failed",
			 count_format(site->failed_allocations, text));
		page_item(page, STYLE_WARNING, STACK_INDENT, separator, item);
	}
	write_errors(view, site);
	page_end(page);
}

static void write_other(struct page *page)
{
	page_to(page, STACK_INDENT + 2);
	page_text(page, STYLE_QUIET, "(all sites beyond the limit)");
	page_end(page);
}

static void write_site(const struct view *view, const struct listing *listing,
		       const struct snapshot_site *site, size_t rank)
{
	struct row row = row_of(listing, site, rank);

	row_write(view->page, &listing->columns, &row);
	write_history(view, site);
	if (site->other)
		write_other(view->page);
	else
		stack_write(view->page, site_stack(view->process, site), STACK_INDENT,
			    view->options->long_frames);
	page_end(view->page);
}

static void write_list(const struct view *view, const struct listing *listing)
{
	size_t count = view->process->site_count;
	bool backwards = view->options->worst_last;
	size_t rank = backwards ? listing->shown : 1;
	size_t seen = 0;

	for (size_t n = 0; n < count; n++) {
		size_t i = backwards ? count - 1 - n : n;
		const struct snapshot_site *site = &view->process->sites[i];

		if (!site_in(site, listing->family) || site_noise(view, site))
			continue;
		seen++;
		if (site_below_top(view, backwards ? listing->sites - seen : seen - 1))
			continue;
		write_site(view, listing, site, rank);
		rank += backwards ? -1 : 1;
	}
}

static bool has_omissions(const struct listing *listing)
{
	return listing->below_top || listing->noise[NOISE_IDLE] || listing->noise[NOISE_INHERITED];
}

static void write_omissions(const struct view *view, const struct listing *listing)
{
	char sites[AMOUNT_SIZE], note[AMOUNT_SIZE * 3];

	if (listing->below_top) {
		amount_of(listing->below_top, "more site", sites);
		snprintf(note, sizeof(note), "%s not shown: --top 0 shows all", sites);
		row_note(view->page, note);
	}
	if (listing->noise[NOISE_IDLE]) {
		amount_of(listing->noise[NOISE_IDLE], "site", sites);
		snprintf(note, sizeof(note),
			 "%s without live %ss hidden: see --sort allocations or --format json",
			 sites, listing->words->noun);
		row_note(view->page, note);
	}
	if (listing->noise[NOISE_INHERITED]) {
		amount_of(listing->noise[NOISE_INHERITED], "site", sites);
		snprintf(note, sizeof(note), "%s with only inherited %ss hidden: see process %u",
			 sites, listing->words->noun, view->process->ppid);
		row_note(view->page, note);
	}
	if (has_omissions(listing))
		page_end(view->page);
}

void text_sites(const struct view *view, enum api_family family)
{
	struct listing listing = listing_of(view, family);
	bool worst_last = view->options->worst_last;

	if (!listing.shown && !has_omissions(&listing))
		return;
	if (listing.shown + listing.below_top) {
		write_title(view, &listing);
		page_end(view->page);
	}
	if (worst_last)
		write_omissions(view, &listing);
	write_list(view, &listing);
	if (!worst_last)
		write_omissions(view, &listing);
}
