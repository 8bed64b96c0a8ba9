/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/site/change.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "report/common/amount.h"

#define LINE_SIZE 256

static bool was_there(const struct site_row *row)
{
	return row->blocks < (int64_t)row->site->live_blocks;
}

static bool has_grown(const struct site_row *row)
{
	return row->bytes > 0 && was_there(row);
}

static bool is_new(const struct site_row *row)
{
	return row->site->live_blocks && !was_there(row);
}

static bool has_shrunk(const struct site_row *row)
{
	return row->bytes < 0 && row->site->live_blocks;
}

static bool is_gone(const struct site_row *row)
{
	return row->blocks < 0 && !row->site->live_blocks;
}

const struct site_change site_changes[SITE_CHANGES] = {
	{"Grew", has_grown}, {"New", is_new}, {"Shrank", has_shrunk}, {"Gone", is_gone}};

int site_change_compare(const void *a, const void *b)
{
	const struct site_row *left = a, *right = b;
	uint64_t left_size = (uint64_t)llabs(left->bytes),
		 right_size = (uint64_t)llabs(right->bytes);

	if (left_size != right_size)
		return left_size < right_size ? 1 : -1;
	return (left->site->id > right->site->id) - (left->site->id < right->site->id);
}

void site_change_heading(struct page *page, const struct site_change *change, size_t count)
{
	char text[AMOUNT_SIZE];

	page_end(page);
	page_text(page, STYLE_STRONG, change->title);
	page_item(page, STYLE_QUIET, 0, page_symbol(page, SYMBOL_SEPARATOR),
		  amount_of(count, "site", text));
	page_end(page);
}

void site_change_title(struct page *page, const char *since, uint64_t ns, int64_t live)
{
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);
	char text[AMOUNT_SIZE], item[LINE_SIZE];

	snprintf(item, sizeof(item), "Since %s", since);
	page_text(page, STYLE_STRONG, item);
	snprintf(item, sizeof(item), "%s ago", amount_duration(ns, page->utf8, text));
	page_item(page, STYLE_QUIET, 0, separator, item);
	snprintf(item, sizeof(item), "%c%s live", live < 0 ? '-' : '+',
		 bytes_format((uint64_t)llabs(live), text));
	page_item(page, STYLE_PLAIN, 0, separator, item);
	page_end(page);
}
