/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invalid frees (--sanity), the most serious first, with up to three stacks each. */
#include "report/site/errors.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/frame.h"
#include "report/common/page.h"
#include "report/site/row.h"
#include "report/text/note.h"
#include "report/text/view.h"

#define ITEM_SIZE     (AMOUNT_SIZE * 2)
#define SENTENCE_SIZE 256
#define FRAMES_INDENT (STACK_INDENT + 2)

static size_t errors_shown(const struct view *view)
{
	size_t top = view->options->top, count = view->process->error_count;

	return top && top < count ? top : count;
}

static void write_title(const struct view *view)
{
	struct page *page = view->page;
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);
	size_t shown = errors_shown(view), count = view->process->error_count;
	char number[UNITS_TEXT_SIZE], places[AMOUNT_SIZE], text[ITEM_SIZE];

	amount_of(count, "place", places);
	if (shown < count)
		snprintf(text, sizeof(text), "%s of %s", count_format(shown, number), places);
	else
		snprintf(text, sizeof(text), "%s", places);
	page_text(page, STYLE_STRONG, "Errors");
	page_item(page, STYLE_QUIET, TEXT_INDENT, separator, text);
	page_item(page, STYLE_QUIET, TEXT_INDENT, separator,
		  view->options->worst_last ? "most serious last" : "most serious first");
	page_end(page);
	page_end(page);
}

/* "  1.  mismatched free, 3 times: operator new[] and free" */
static void write_headline(const struct view *view, const struct snapshot_error *error, size_t rank)
{
	struct page *page = view->page;
	char number[UNITS_TEXT_SIZE], text[ITEM_SIZE];

	page_to(page, TEXT_INDENT);
	page_format(page, STYLE_QUIET, "%3zu.  ", rank);
	page_text(page, STYLE_WARNING, sanity_kind_words(error->kind));
	if (error->count > 1) {
		snprintf(text, sizeof(text), "%s times", count_format(error->count, number));
		page_item(page, STYLE_STRONG, STACK_INDENT, ", ", text);
	}
	if (error->allocated_by == API_NONE)
		snprintf(text, sizeof(text), "%s", api_name(error->api));
	else if (error->kind == SANITY_DOUBLE_FREE)
		snprintf(text, sizeof(text), "%s and %s", api_name(error->freed_by),
			 api_name(error->api));
	else
		snprintf(text, sizeof(text), "%s and %s", api_name(error->allocated_by),
			 api_name(error->api));
	page_item(page, STYLE_PLAIN, STACK_INDENT, ": ", text);
	page_end(page);
}

static void write_block(const struct view *view, const struct snapshot_error *error)
{
	char bytes[UNITS_TEXT_SIZE], passed[UNITS_TEXT_SIZE], text[ITEM_SIZE];
	struct page *page = view->page;

	if (error->kind == SANITY_INVALID_FREE)
		snprintf(text, sizeof(text), "no block at 0x%" PRIx64, error->address);
	else
		snprintf(text, sizeof(text), "%s of %s at 0x%" PRIx64,
			 error->count > 1 ? "first: a block" : "a block",
			 bytes_format(error->size, bytes), error->address);
	page_item(page, STYLE_QUIET, STACK_INDENT, "", text);
	if (error->kind == SANITY_SIZE_MISMATCH) {
		snprintf(text, sizeof(text), "released as %s",
			 bytes_format(error->passed_size, passed));
		page_item(page, STYLE_WARNING, STACK_INDENT, page_symbol(page, SYMBOL_SEPARATOR),
			  text);
	}
	page_end(page);
}

static void write_stack(const struct view *view, const char *label, enum api api, uint32_t stack)
{
	const struct snapshot_process *process = view->process;

	if (stack >= process->stack_count)
		return;
	page_to(view->page, STACK_INDENT);
	page_format(view->page, STYLE_QUIET, "%s by %s at", label, api_name(api));
	page_end(view->page);
	stack_write(view->page, &process->stacks[stack], FRAMES_INDENT, view->options->long_frames);
}

static void write_error(const struct view *view, const struct snapshot_error *error, size_t rank)
{
	bool again = error->kind == SANITY_DOUBLE_FREE;

	write_headline(view, error, rank);
	write_block(view, error);
	write_stack(view, "allocated", error->allocated_by, error->allocated_at);
	write_stack(view, "freed", again ? error->freed_by : error->api, error->freed_at);
	write_stack(view, "freed again", error->api, error->freed_again_at);
	page_end(view->page);
}

static void write_omission(const struct view *view)
{
	size_t hidden = view->process->error_count - errors_shown(view);
	char places[AMOUNT_SIZE], note[ITEM_SIZE];

	if (!hidden)
		return;
	snprintf(note, sizeof(note), "%s not shown: --top 0 shows all",
		 amount_of(hidden, "more place", places));
	row_note(view->page, note);
	page_end(view->page);
}

void text_errors(const struct view *view)
{
	bool backwards = view->options->worst_last;
	size_t shown = errors_shown(view);

	if (!shown)
		return;
	write_title(view);
	if (backwards)
		write_omission(view);
	for (size_t i = 0; i < shown; i++) {
		size_t rank = backwards ? shown - i : i + 1;

		write_error(view, &view->process->errors[rank - 1], rank);
	}
	if (!backwards)
		write_omission(view);
}

/* ---- summary ---- */

static void write_uncertain(const struct view *view)
{
	uint64_t uncertain = view->process->sanity.uncertain;
	char frees[AMOUNT_SIZE], sentence[SENTENCE_SIZE];

	if (!uncertain)
		return;
	snprintf(sentence, sizeof(sentence),
		 "%s of unknown addresses may or may not be errors: not every allocation was seen",
		 amount_of(uncertain, "free", frees));
	page_to(view->page, TEXT_INDENT);
	page_sentence(view->page, STYLE_QUIET, TEXT_INDENT, sentence);
}

static void write_unlisted(const struct view *view)
{
	char errors[AMOUNT_SIZE], sentence[SENTENCE_SIZE];

	if (!view->process->sanity.unlisted)
		return;
	snprintf(sentence, sizeof(sentence), "%s at other places %s counted but not listed",
		 amount_of(view->process->sanity.unlisted, "error", errors),
		 view->process->sanity.unlisted == 1 ? "was" : "were");
	text_loss(view->page, sentence);
}

void text_sanity(const struct view *view)
{
	write_unlisted(view);
	write_uncertain(view);
}

void text_error_summary(const struct view *view)
{
	char errors[AMOUNT_SIZE];

	if (!view->process->sanity.done)
		return;
	if (view->process->sanity.errors)
		page_format(view->page, STYLE_PLAIN, "%s; ",
			    amount_of(view->process->sanity.errors, "error", errors));
	else
		page_text(view->page, STYLE_PLAIN, "no errors; ");
}
