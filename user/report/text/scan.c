/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a process was scanned for leaks, and the results, one line each. */
#include "report/text/scan.h"

#include <stdio.h>

#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/page.h"
#include "report/text/note.h"
#include "report/text/view.h"

#define SENTENCE_SIZE 320
#define STALE_NS      1000000000ULL /* an older scan was not made for this report */

static void write_quiet(struct page *page, const char *sentence)
{
	page_to(page, TEXT_INDENT);
	page_sentence(page, STYLE_QUIET, TEXT_INDENT, sentence);
}

/* " while it ran, in 3 passes that agree"; nothing if the process was paused */
static const char *manner_of(const struct snapshot_scan *scan, char text[AMOUNT_SIZE])
{
	char passes[UNITS_TEXT_SIZE];

	if (!scan->live)
		return "";
	if (scan->passes < 2)
		return " while it ran";
	snprintf(text, AMOUNT_SIZE, " while it ran, in %s passes that agree",
		 count_format(scan->passes, passes));
	return text;
}

static void write_manner(const struct view *view)
{
	const struct snapshot_scan *scan = &view->process->scan;
	uint64_t age = amount_between(scan->taken_ns, view->snapshot->taken_ns);
	char bytes[UNITS_TEXT_SIZE], whole[AMOUNT_SIZE], manner[AMOUNT_SIZE], pause[AMOUNT_SIZE];
	char ago[AMOUNT_SIZE], sentence[SENTENCE_SIZE];
	bool utf8 = view->page->utf8;
	int used;

	used = snprintf(sentence, sizeof(sentence), "scanned %s in %s%s (process paused for %s)",
			bytes_format(scan->bytes_scanned, bytes),
			amount_duration(scan->duration_ns, utf8, whole), manner_of(scan, manner),
			amount_duration(scan->pause_ns, utf8, pause));
	if (scan->taken_ns && age > STALE_NS)
		snprintf(sentence + used, sizeof(sentence) - (size_t)used,
			 ", %s before this report", amount_duration(age, utf8, ago));
	write_quiet(view->page, sentence);
}

/*
 * If the program was traced from its start, every block is known and the rest belongs to the
 * allocator. Otherwise some of the rest is known to be free. The remainder is unknown, because
 * glibc also marks chunks in its thread caches and fast bins as in use.
 */
static void write_between(const struct view *view)
{
	const struct snapshot_scan *scan = &view->process->scan;
	char bytes[UNITS_TEXT_SIZE], unused[UNITS_TEXT_SIZE], sentence[SENTENCE_SIZE];
	int used;

	if (!scan->bytes_between || view->process->from_start)
		return;
	used = snprintf(sentence, sizeof(sentence),
			"%s of the heap was allocated before tracing started",
			bytes_format(scan->bytes_between, bytes));
	if (scan->bytes_free)
		used += snprintf(sentence + used, sizeof(sentence) - (size_t)used,
				 " (at least %s of it is free)",
				 bytes_format(scan->bytes_free, unused));
	else
		used += snprintf(sentence + used, sizeof(sentence) - (size_t)used, " or is free");
	snprintf(sentence + used, sizeof(sentence) - (size_t)used,
		 "; blocks that it points to count as reachable");
	write_quiet(view->page, sentence);
}

static void write_unreadable(const struct view *view)
{
	char bytes[UNITS_TEXT_SIZE], sentence[SENTENCE_SIZE];

	if (!view->process->scan.bytes_unreadable)
		return;
	snprintf(sentence, sizeof(sentence),
		 "%s could not be read: blocks that only this memory may point to are unknown",
		 bytes_format(view->process->scan.bytes_unreadable, bytes));
	text_loss(view->page, sentence);
}

void text_scan(const struct view *view)
{
	const struct snapshot_scan *scan = &view->process->scan;
	char sentence[SENTENCE_SIZE];

	if (scan->done) {
		write_manner(view);
		write_between(view);
		write_unreadable(view);
	} else if (scan->reason) {
		snprintf(sentence, sizeof(sentence), "not scanned for leaks: %s", scan->reason);
		text_loss(view->page, sentence);
	}
}

/* Sites with definite leaks. */
static uint64_t leak_sites(const struct snapshot_process *process)
{
	uint64_t count = 0;

	for (size_t i = 0; i < process->site_count; i++)
		count += process->sites[i].leaks.classes[LEAK_DEFINITE].blocks != 0;
	return count;
}

struct adverb {
	enum leak_class leak;
	const char *word;
	bool lost; /* followed by the verb */
};

static const struct adverb adverbs[] = {
	{LEAK_INDIRECT, "indirectly", true},
	{LEAK_POSSIBLE, "possibly", true},
	{LEAK_UNKNOWN, "perhaps", true},
	{LEAK_STACK, "referenced only from a stack", false},
};

void text_leaks_definite(struct page *page, const struct snapshot_sum classes[LEAK_CLASS_COUNT],
			 bool misses_calls)
{
	const struct snapshot_sum *definite = &classes[LEAK_DEFINITE];
	char leaks[AMOUNT_SIZE], bytes[UNITS_TEXT_SIZE];

	if (definite->blocks) {
		page_format(page, STYLE_PLAIN, "%s, %s definitely leaked",
			    amount_of(definite->blocks, "leak", leaks),
			    bytes_format(definite->bytes, bytes));
		return;
	}
	page_text(page, STYLE_PLAIN, snapshot_is_clean(classes) ? "no leaks" : "no definite leaks");
	if (misses_calls)
		page_text(page, STYLE_PLAIN, " among the calls that were traced");
}

void text_leaks_others(struct page *page, const struct snapshot_sum classes[LEAK_CLASS_COUNT])
{
	const char *verb = classes[LEAK_DEFINITE].blocks ? "" : " leaked";
	char bytes[UNITS_TEXT_SIZE];

	for (size_t i = 0; i < sizeof(adverbs) / sizeof(adverbs[0]); i++) {
		const struct snapshot_sum *sum = &classes[adverbs[i].leak];

		if (sum->blocks)
			page_format(page, STYLE_PLAIN, ", %s %s%s", bytes_format(sum->bytes, bytes),
				    adverbs[i].word, adverbs[i].lost ? verb : "");
	}
}

void text_leak_summary(const struct view *view)
{
	const struct snapshot_scan *scan = &view->process->scan;
	char bytes[UNITS_TEXT_SIZE], sites[AMOUNT_SIZE];
	struct page *page = view->page;

	if (!scan->done)
		return;
	text_leaks_definite(page, scan->classes,
			    snapshot_losses_hide_calls(&view->process->losses));
	if (scan->classes[LEAK_DEFINITE].blocks)
		page_format(page, STYLE_PLAIN, " at %s",
			    amount_of(leak_sites(view->process), "site", sites));
	text_leaks_others(page, scan->classes);
	if (scan->suppressed.blocks)
		page_format(page, STYLE_PLAIN, ", %s suppressed",
			    bytes_format(scan->suppressed.bytes, bytes));
	page_text(page, STYLE_PLAIN, "; ");
}
