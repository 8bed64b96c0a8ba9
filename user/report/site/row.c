/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/site/row.h"

#include <stdio.h>

#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/page.h"

#define SHARE_COLUMNS 6 /* "100.0%" */

static void widen(size_t *columns, size_t want)
{
	if (*columns < want)
		*columns = want;
}

void row_measure(struct row_columns *columns, const struct page *page, const struct row *row)
{
	char text[AMOUNT_SIZE];

	snprintf(text, sizeof(text), "%zu", row->rank);
	widen(&columns->rank, page_columns(page, text));
	widen(&columns->bytes, page_columns(page, bytes_format(row->sum.bytes, text)));
	widen(&columns->blocks, page_columns(page, count_format(row->sum.blocks, text)));
	widen(&columns->noun, page_columns(page, amount_noun(row->sum.blocks, row->noun, text)));
}

void row_write(struct page *page, const struct row_columns *columns, const struct row *row)
{
	char text[AMOUNT_SIZE];

	snprintf(text, sizeof(text), "%zu", row->rank);
	page_to(page, TEXT_INDENT);
	page_right(page, STYLE_QUIET, columns->rank, text);
	page_text(page, STYLE_QUIET, ".");
	page_to(page, page->column + 2);
	page_right(page, STYLE_STRONG, columns->bytes, bytes_format(row->sum.bytes, text));
	page_to(page, page->column + 2);
	page_right(page, STYLE_PLAIN, SHARE_COLUMNS,
		   amount_share(row->sum.bytes, row->whole, text));
	page_text(page, STYLE_PLAIN, "  in ");
	page_right(page, STYLE_PLAIN, columns->blocks, count_format(row->sum.blocks, text));
	page_format(page, STYLE_PLAIN, " %-*s", (int)columns->noun,
		    amount_noun(row->sum.blocks, row->noun, text));
	snprintf(text, sizeof(text), "from %s", api_name(row->api));
	page_item(page, STYLE_PLAIN, STACK_INDENT, " ", text);
	page_end(page);
}

void row_note(struct page *page, const char *note)
{
	page_to(page, TEXT_INDENT);
	page_sentence(page, STYLE_QUIET, TEXT_INDENT, note);
}
