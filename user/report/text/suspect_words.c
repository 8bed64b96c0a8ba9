/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/suspect_words.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "model/snapshot/suspect.h"
#include "report/common/amount.h"
#include "report/common/frame.h"
#include "report/text/row.h"
#include "report/text/text.h"

#define CALLERS    4 /* behind the culprit */
#define RATE_LEAST 10240.0

/* In the smallest unit of time in which it is a number that one can imagine. */
const char *growth_rate(double bytes_per_second, char text[RATE_SIZE])
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"day", 86400}};
	char bytes[UNITS_TEXT_SIZE];
	size_t i = 0;

	/* Seconds are for what is fast. */
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
	uint64_t definite = classes[LEAK_DEFINITE].blocks, lost = snapshot_lost(classes).blocks;
	char number[UNITS_TEXT_SIZE], reason[SUSPECT_SIZE / 2];

	if (definite)
		snprintf(reason, sizeof(reason), "%s %s definite leak%s",
			 count_format(definite, number), definite == 1 ? "is a" : "are",
			 definite == 1 ? "" : "s");
	else if (lost)
		snprintf(reason, sizeof(reason), "%s %s lost with others",
			 count_format(lost, number), lost == 1 ? "is" : "are");
	else if (classes[LEAK_REACHABLE].blocks >= site->live_blocks)
		snprintf(reason, sizeof(reason), "pointers still lead to all that live");
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

/* ---- the list ---- */

static void write_place(struct page *page, const struct snapshot_frame *frame, enum style style)
{
	char label[FRAME_LABEL_SIZE];
	const char *source;

	page_name(page, style, frame_label(frame, label), NAME_COLUMNS);
	source = frame_source(frame, label);
	if (*source)
		page_format(page, STYLE_PLAIN, " (%s)", source);
}

static void write_head(struct page *page, const struct snapshot_process *process,
		       const struct snapshot_site *site, size_t rank, bool ids)
{
	const struct snapshot_frame *culprit = stack_culprit(site_stack(process, site));
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);
	char item[AMOUNT_SIZE * 2], bytes[UNITS_TEXT_SIZE];

	page_to(page, TEXT_INDENT);
	page_format(page, STYLE_PLAIN, "%zu.  ", rank);
	if (culprit)
		write_place(page, culprit, STYLE_CULPRIT);
	else
		page_text(page, STYLE_CULPRIT,
			  site->other ? "(all places beyond those that are kept)" : "(no stack)");
	snprintf(item, sizeof(item), "%s live from %s", bytes_format(site->live_bytes, bytes),
		 api_name(site->api));
	page_item(page, STYLE_PLAIN, STACK_INDENT, separator, item);
	if (ids) {
		snprintf(item, sizeof(item), "site %u", site->id);
		page_item(page, STYLE_PLAIN, STACK_INDENT, separator, item);
	}
	page_end(page);
}

/* "called by handle (server.c:80), serve (server.c:12)" */
static void write_callers(struct page *page, const struct snapshot_stack *stack)
{
	const struct snapshot_frame *culprit = stack_culprit(stack);
	char text[CALLERS * (FRAME_LABEL_SIZE + 64)] = "called by ", label[FRAME_LABEL_SIZE];
	size_t used = strlen(text), first = used;

	if (!culprit)
		return;
	for (uint32_t i = 0; i < CALLERS; i++) {
		const struct snapshot_frame *frame = culprit + 1 + i;
		const char *name;

		if (frame >= stack->frames + stack->frame_count || !frame_named(frame))
			break;
		name = frame_label(frame, label);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.60s",
					 used > first ? ", " : "", name);
		if (!strcmp(name, "main"))
			break;
	}
	if (used == first)
		return;
	page_to(page, STACK_INDENT);
	page_sentence(page, STYLE_QUIET, STACK_INDENT, text);
}

static void write_suspect(struct page *page, const struct snapshot_process *process,
			  const struct snapshot_site *site, size_t rank, bool ids)
{
	char text[SUSPECT_SIZE];

	write_head(page, process, site, rank, ids);
	page_to(page, STACK_INDENT);
	page_sentence(page, STYLE_PLAIN, STACK_INDENT,
		      suspect_reasons(process, site, page->utf8, text));
	write_callers(page, site_stack(process, site));
}

static void write_title(struct page *page, size_t count, size_t shown, bool worst_last)
{
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);
	char number[UNITS_TEXT_SIZE], sites[AMOUNT_SIZE], text[AMOUNT_SIZE * 2];

	page_text(page, STYLE_STRONG, "Suspects");
	amount_of(count, "site", sites);
	if (shown < count)
		snprintf(text, sizeof(text), "%s of %s", count_format(shown, number), sites);
	else
		snprintf(text, sizeof(text), "%s", sites);
	page_item(page, STYLE_QUIET, TEXT_INDENT, separator, text);
	page_item(page, STYLE_QUIET, TEXT_INDENT, separator,
		  worst_last ? "most suspicious last" : "most suspicious first");
	page_end(page);
	page_end(page);
}

void suspects_write(struct page *page, const struct snapshot_process *process, bool worst_last,
		    bool ids)
{
	const struct snapshot_site *sites[SUSPECTS_SHOWN];
	size_t count = suspects_find(process, sites, SUSPECTS_SHOWN);
	size_t shown = count < SUSPECTS_SHOWN ? count : SUSPECTS_SHOWN;

	if (!count)
		return;
	write_title(page, count, shown, worst_last);
	for (size_t i = 0; i < shown; i++) {
		size_t rank = worst_last ? shown - i : i + 1;

		write_suspect(page, process, sites[rank - 1], rank, ids);
		page_end(page);
	}
}
