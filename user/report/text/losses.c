/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/losses.h"

#include <stdio.h>

#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/page.h"
#include "report/text/note.h"
#include "report/text/stacks.h"
#include "report/text/view.h"

#define SENTENCE_SIZE 256

struct loss_row {
	size_t offset; /* in struct snapshot_losses */
	const char *one;
	const char *many; /* %s is the number */
};

#define LOSS(field) offsetof(struct snapshot_losses, field)

/* Losses that are plain counts. */
static const struct loss_row loss_rows[] = {
	{LOSS(events), "1 event was dropped: the ring buffer was full; use a larger --buffer",
	 "%s events were dropped: the ring buffer was full; use a larger --buffer"},
	{LOSS(stacks), "1 call has no stack: it could not be read or stored",
	 "%s calls have no stack: it could not be read or stored"},
	{LOSS(missed_returns),
	 "1 call was not counted: its return was missed, so its result is unknown",
	 "%s calls were not counted: their returns were missed, so their results are unknown"},
	{LOSS(unprobed_sites),
	 "1 allocation function has no probe (-v names it): its calls are missing",
	 "%s allocation functions have no probe (-v names them): their calls are missing"},
	{LOSS(children), "1 child is not traced: there were too many processes at once",
	 "%s children are not traced: there were too many processes at once"},
	{LOSS(no_allocator),
	 "no allocation function found: its allocations were not traced (name its allocator with "
	 "--allocator)",
	 "no allocation functions found in %s programs: their allocations were not traced"},
	{LOSS(collisions),
	 "1 block was counted as freed when its address was reused: its free was not seen",
	 "%s blocks were counted as freed when their addresses were reused: their frees were not "
	 "seen"},
};

static bool loss_write_row(struct page *page, const struct loss_row *row,
			   const struct snapshot_losses *losses)
{
	uint64_t count = *(const uint64_t *)((const char *)losses + row->offset);
	char number[UNITS_TEXT_SIZE];
	char sentence[SENTENCE_SIZE];

	if (!count)
		return false;
	snprintf(sentence, sizeof(sentence), count == 1 ? row->one : row->many,
		 count_format(count, number));
	text_loss(page, sentence);
	return true;
}

static bool loss_write_gap(struct page *page, const struct snapshot_process *process, bool utf8)
{
	char duration[AMOUNT_SIZE];
	char sentence[SENTENCE_SIZE];

	if (!process->losses.gap_ns)
		return false;
	snprintf(sentence, sizeof(sentence), "not traced for %s: calls from that time are missing",
		 amount_duration(process->losses.gap_ns, utf8, duration));
	text_loss(page, sentence);
	return true;
}

/* For an attached process, frees of older blocks are expected and not a loss. */
static bool loss_write_unmatched(struct page *page, const struct snapshot_process *process)
{
	uint64_t frees = process->losses.unmatched_frees;
	char amount[AMOUNT_SIZE];
	char sentence[SENTENCE_SIZE];

	if (!frees)
		return false;
	amount_of(frees, "free", amount);
	if (process->from_start) {
		snprintf(sentence, sizeof(sentence),
			 "%s of unknown blocks: their allocation was not seen", amount);
		text_loss(page, sentence);
		return true;
	}
	snprintf(sentence, sizeof(sentence), "%s of blocks allocated before tracing started",
		 amount);
	page_to(page, TEXT_INDENT);
	page_sentence(page, STYLE_QUIET, TEXT_INDENT, sentence);
	return false;
}

static bool loss_write_others(struct page *page, const struct snapshot_process *process)
{
	char amount[AMOUNT_SIZE], sentence[SENTENCE_SIZE];

	if (!process->other_calls)
		return false;
	snprintf(sentence, sizeof(sentence),
		 "%s came from sites beyond the limit: counted together, without stacks",
		 amount_of(process->other_calls, "call", amount));
	text_loss(page, sentence);
	return true;
}

static void write_left(struct page *page, const struct snapshot_process *process)
{
	if (!process->left)
		return;
	page_to(page, TEXT_INDENT);
	page_sentence(page, STYLE_PLAIN, TEXT_INDENT,
		      "no longer traced: it now runs a program that was not selected");
}

/* Allocations that the user chose not to count are no loss. */
static void write_unaccounted(struct page *page, const struct snapshot_process *process)
{
	char amount[AMOUNT_SIZE], sentence[SENTENCE_SIZE];

	if (!process->paused && !process->unaccounted)
		return;
	snprintf(sentence, sizeof(sentence), "%s while tracing %s stopped %s not counted",
		 amount_of(process->unaccounted, "allocation", amount),
		 process->paused ? "is" : "was", process->unaccounted == 1 ? "was" : "were");
	page_to(page, TEXT_INDENT);
	page_sentence(page, process->paused ? STYLE_WARNING : STYLE_QUIET, TEXT_INDENT, sentence);
}

void text_losses(const struct view *view)
{
	const struct snapshot_process *process = view->process;
	bool lost = false;

	write_left(view->page, process);
	write_unaccounted(view->page, process);
	for (size_t i = 0; i < sizeof(loss_rows) / sizeof(loss_rows[0]); i++)
		lost |= loss_write_row(view->page, &loss_rows[i], &process->losses);
	lost |= loss_write_others(view->page, process);
	lost |= text_cut_stacks(view);
	lost |= loss_write_gap(view->page, process, view->page->utf8);
	lost |= loss_write_unmatched(view->page, process);
	if (lost)
		return;
	page_to(view->page, TEXT_INDENT);
	page_text(view->page, STYLE_QUIET, "no events dropped");
	page_end(view->page);
}
