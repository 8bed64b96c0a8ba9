/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report for people. With several processes, a table comes first, and then the sections of the
 * most important ones. The section of a process has a heading, totals, losses, leaks (if scanned
 * for) and the sites with their stacks. The most important part is where the reader looks first: at
 * the start of a file, or at the end on a terminal (worst_last). Live blocks are called "still
 * live", because that is all that is known; only a leak scan can tell whether anything still points
 * to them.
 *
 * No line is wider than the page, except SUMMARY and TOTAL lines, which are complete for grep.
 */
#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/frame.h"
#include "report/common/page.h"
#include "report/common/process.h"
#include "report/format.h"
#include "report/site/changes.h"
#include "report/site/errors.h"
#include "report/site/leaks.h"
#include "report/site/sites.h"
#include "report/site/suspects.h"
#include "report/text/losses.h"
#include "report/text/note.h"
#include "report/text/process.h"
#include "report/text/sampling.h"
#include "report/text/scan.h"
#include "report/text/sections.h"
#include "report/text/view.h"

#define WIDTH_DEFAULT 80
#define WIDTH_LEAST   60

static void write_silence(const struct view *view)
{
	struct page *page = view->page;

	page_to(page, TEXT_INDENT);
	page_sentence(page, STYLE_PLAIN, TEXT_INDENT,
		      "No allocation or free was seen. Either the process was idle, or it uses an "
		      "allocator whose function names mtrace-bpf does not know. mtrace-bpf -v "
		      "lists the probed functions; --allocator adds an allocator.");
}

static void write_account(const struct view *view)
{
	if (process_has_events(view->process))
		text_totals(view);
	else
		write_silence(view);
	text_sampling(view);
	text_scan(view);
	text_sanity(view);
	text_losses(view);
	if (view->process->live.blocks && !view->process->scan.done) {
		page_to(view->page, TEXT_INDENT);
		page_sentence(
			view->page, STYLE_QUIET, TEXT_INDENT,
			view->process->scan.reason
				? "Live memory is not necessarily leaked."
				: "Live memory is not necessarily leaked. Use -a to find leaks.");
	}
	page_end(view->page);
}

static void write_sites(const struct view *view)
{
	if (view->options->worst_last) {
		text_suppressed(view);
		text_sites(view, FAMILY_MAP);
		text_sites(view, FAMILY_HEAP);
		text_leaks(view);
		text_errors(view);
	} else {
		text_errors(view);
		text_leaks(view);
		text_sites(view, FAMILY_HEAP);
		text_sites(view, FAMILY_MAP);
		text_suppressed(view);
	}
}

struct live_heap_sites {
	size_t count;
	const struct snapshot_site *worst; /* the most live bytes, however the report is sorted */
};

static struct live_heap_sites live_heap_sites_of(const struct snapshot_process *process)
{
	struct live_heap_sites live = {0};

	for (size_t i = 0; i < process->site_count; i++) {
		const struct snapshot_site *site = &process->sites[i];

		if (!site->live_blocks || api_row(site->api)->family != FAMILY_HEAP)
			continue;
		live.count++;
		if (!live.worst || site->live_bytes > live.worst->live_bytes)
			live.worst = site;
	}
	return live;
}

static void write_worst(const struct view *view, const char *label,
			const struct snapshot_site *site, struct snapshot_sum sum)
{
	const struct snapshot_frame *culprit = stack_culprit(site_stack(view->process, site));
	char bytes[UNITS_TEXT_SIZE], blocks[AMOUNT_SIZE];

	page_format(view->page, STYLE_PLAIN, "; %s: %s in %s", label,
		    bytes_format(sum.bytes, bytes), amount_of(sum.blocks, "block", blocks));
	if (!culprit || !frame_named(culprit))
		return;
	page_text(view->page, STYLE_PLAIN, " from ");
	frame_brief(view->page, culprit);
}

static void write_summary(const struct view *view)
{
	const struct snapshot_process *process = view->process;
	const struct snapshot_site *leak = worst_leak(process), *worst;
	struct live_heap_sites live = live_heap_sites_of(process);
	char blocks[AMOUNT_SIZE], bytes[UNITS_TEXT_SIZE], sites[AMOUNT_SIZE];

	worst = live.worst;
	page_unlimited(view->page);
	page_text(view->page, STYLE_PLAIN, "SUMMARY: ");
	page_name(view->page, STYLE_PLAIN, process_name(process), NAME_COLUMNS);
	page_format(view->page, STYLE_PLAIN, " (%u): ", process->pid);
	text_error_summary(view);
	text_leak_summary(view);
	page_format(view->page, STYLE_PLAIN, "%s, %s still live at %s",
		    amount_of(process->live.blocks, "block", blocks),
		    bytes_format(process->live.bytes, bytes), amount_of(live.count, "site", sites));
	if (leak)
		write_worst(view, "worst leak", leak, snapshot_leaked(leak->leaks.classes));
	else if (worst)
		write_worst(view, "worst", worst,
			    (struct snapshot_sum){worst->live_blocks, worst->live_bytes});
	page_end(view->page);
}

static void write_process(const struct view *view)
{
	text_heading(view);
	if (!view->options->worst_last) {
		suspects_write(view->page, view->process, false, view->options->ids);
		text_changes(view);
		write_account(view);
	}
	write_sites(view);
	if (view->options->worst_last) {
		write_account(view);
		text_changes(view);
		suspects_write(view->page, view->process, true, view->options->ids);
	}
	write_summary(view);
}

static void write_sections(struct page *page, const struct snapshot *snapshot,
			   const struct sections *sections, const struct format_options *options)
{
	for (size_t n = 0; n < sections->count && !page->out.err; n++) {
		size_t i = options->worst_last ? sections->count - 1 - n : n;
		struct view view = {page, snapshot, sections->shown[i], options};

		if (n)
			page_end(page);
		write_process(&view);
	}
}

struct grand_total {
	uint64_t processes, scanned;
	struct snapshot_sum live, classes[LEAK_CLASS_COUNT];
	bool misses_calls;
};

static void grand_total_add_scan(struct grand_total *total, const struct snapshot_scan *scan)
{
	for (int leak = 0; leak < LEAK_CLASS_COUNT; leak++) {
		total->classes[leak].blocks += scan->classes[leak].blocks;
		total->classes[leak].bytes += scan->classes[leak].bytes;
	}
}

/*
 * A process that ran several images has a section for each. Blocks of the earlier images are gone,
 * but their leaks still count.
 */
static struct grand_total grand_total_of(const struct snapshot *snapshot)
{
	const struct snapshot_others *others = &snapshot->others;
	struct grand_total total = {
		.processes = others->processes,
		.scanned = others->scanned,
		.live = {others->sums.live.blocks - others->gone.blocks,
			 others->sums.live.bytes - others->gone.bytes},
		.misses_calls = snapshot_losses_hide_calls(&others->sums.losses),
	};

	grand_total_add_scan(&total, &others->sums.scan);
	for (size_t i = 0; i < snapshot->process_count; i++) {
		const struct snapshot_process *process = &snapshot->processes[i];

		total.scanned += process->scan.done;
		grand_total_add_scan(&total, &process->scan);
		total.misses_calls |= snapshot_losses_hide_calls(&process->losses);
		if (process->replaced)
			continue;
		total.live.blocks += process->live.blocks;
		total.live.bytes += process->live.bytes;
		total.processes++;
	}
	return total;
}

static void write_total(struct page *page, const struct snapshot *snapshot)
{
	struct grand_total total = grand_total_of(snapshot);
	char amount[AMOUNT_SIZE], size[UNITS_TEXT_SIZE];

	page_end(page);
	page_unlimited(page);
	page_format(page, STYLE_PLAIN,
		    "TOTAL: %s: ", amount_of(total.processes, "process", amount));
	if (total.scanned) {
		text_leaks_definite(page, total.classes, total.misses_calls);
		text_leaks_others(page, total.classes);
		page_text(page, STYLE_PLAIN, "; ");
	}
	page_format(page, STYLE_PLAIN, "%s, %s still live",
		    amount_of(total.live.blocks, "block", amount),
		    bytes_format(total.live.bytes, size));
	page_end(page);
}

static void write_dropped(struct page *page, const struct snapshot *snapshot)
{
	char amount[AMOUNT_SIZE], sentence[AMOUNT_SIZE * 2];

	if (!snapshot->dropped)
		return;
	snprintf(sentence, sizeof(sentence), "%s dropped",
		 amount_of(snapshot->dropped, "invalid record", amount));
	text_loss(page, sentence);
}

/* Placed before all numbers that it affects. */
static void write_incomplete(struct page *page, const struct snapshot *snapshot)
{
	char sentence[2048];

	if (!snapshot->incomplete)
		return;
	snprintf(sentence, sizeof(sentence), "incomplete: %s", snapshot->incomplete);
	text_loss(page, sentence);
	page_end(page);
}

static struct page page_of(const struct format_options *options, FILE *file)
{
	size_t width = options->width ? options->width : WIDTH_DEFAULT;

	if (width < WIDTH_LEAST)
		width = WIDTH_LEAST;
	return (struct page){
		.out = {.file = file},
		.width = width,
		.limit = width,
		.color = options->color,
		.utf8 = options->utf8,
	};
}

static bool has_several(const struct snapshot *snapshot)
{
	return snapshot->process_count + snapshot->others.sections > 1;
}

static void write_all(struct page *page, const struct snapshot *snapshot,
		      const struct sections *sections, const struct format_options *options)
{
	bool several = has_several(snapshot);

	if (!options->worst_last)
		write_incomplete(page, snapshot);
	if (!snapshot->process_count)
		page_sentence(page, STYLE_PLAIN, 0, "No process was traced.");
	if (several && !options->worst_last) {
		text_sections(page, sections, snapshot, options);
		page_end(page);
	}
	write_sections(page, snapshot, sections, options);
	if (several && options->worst_last) {
		page_end(page);
		text_sections(page, sections, snapshot, options);
	}
	if (several)
		write_total(page, snapshot);
	write_dropped(page, snapshot);
	text_overhead(page, snapshot);
	text_limit(page, snapshot);
	if (options->worst_last)
		write_incomplete(page, snapshot);
}

static int text_write(const struct snapshot *snapshot, const struct format_options *options,
		      FILE *out)
{
	struct page page = page_of(options, out);
	struct sections sections;
	int err = sections_choose(&sections, snapshot, options->top);

	if (err)
		return err;
	write_all(&page, snapshot, &sections, options);
	sections_free(&sections);
	return page_finish(&page);
}

const struct report_format format_text = {.name = "text", .write = text_write};
