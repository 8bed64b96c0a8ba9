// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/site/suspects.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "model/snapshot/suspect.h"
#include "report/common/amount.h"
#include "report/common/frame.h"
#include "report/common/process.h"
#include "report/common/suspect_words.h"
#include "report/site/row.h"

#define CALLERS 4 /* after the culprit */

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
			  site->other ? "(all sites beyond the limit)" : "(no stack)");
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
