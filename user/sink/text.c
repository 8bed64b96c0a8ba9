/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report for people. A process's section is a heading, the totals, what was not seen, and the
 * sites with their stacks. What matters most stands where the eye is: at the beginning of a file,
 * and on a terminal (worst_last) at the end. Live blocks are called "still live", which is what is
 * known; whether anything still points at them is another question.
 *
 * No line is wider than the page, but for those that begin with SUMMARY and TOTAL: they are for
 * grep, so each holds all that it has to say.
 */
#include "sink/text.h"

#include "base/units.h"
#include "sink/amount.h"
#include "sink/frame.h"

#define WIDTH_DEFAULT 80
#define WIDTH_LEAST   60

static void write_silence(const struct view *view)
{
	struct page *page = view->page;

	page_to(page, TEXT_INDENT);
	page_sentence(page, STYLE_PLAIN, TEXT_INDENT,
		      "No allocation or free was seen. The process may have been idle meanwhile, "
		      "or it brings an allocator of its own under names that are not known here; "
		      "mtrace-bpf -v tells which functions are probed.");
}

static void write_books(const struct view *view)
{
	if (process_has_events(view->process))
		text_totals(view);
	else
		write_silence(view);
	text_losses(view);
	if (view->process->live.blocks) {
		page_to(view->page, TEXT_INDENT);
		page_sentence(view->page, STYLE_QUIET, TEXT_INDENT,
			      "still live is what was not freed so far, which need not be wrong");
	}
	page_end(view->page);
}

static void write_sites(const struct view *view)
{
	bool worst_last = view->options->worst_last;

	text_sites(view, worst_last ? FAMILY_MAP : FAMILY_HEAP);
	text_sites(view, worst_last ? FAMILY_HEAP : FAMILY_MAP);
}

struct live_sites {
	size_t count;
	const struct snapshot_site *worst; /* by live bytes, whatever the order of the report */
};

static struct live_sites live_sites_of(const struct snapshot_process *process)
{
	struct live_sites live = {0};

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

static void write_worst(const struct view *view, const struct snapshot_site *site)
{
	const struct snapshot_frame *culprit = stack_culprit(site_stack(view->process, site));
	char bytes[UNITS_TEXT_SIZE], blocks[AMOUNT_SIZE];

	page_format(view->page, STYLE_PLAIN, "; worst: %s in %s",
		    bytes_format(site->live_bytes, bytes),
		    amount_of(site->live_blocks, "block", blocks));
	if (!culprit || !frame_named(culprit))
		return;
	page_text(view->page, STYLE_PLAIN, " from ");
	frame_brief(view->page, culprit);
}

static void write_summary(const struct view *view)
{
	const struct snapshot_process *process = view->process;
	struct live_sites live = live_sites_of(process);
	char blocks[AMOUNT_SIZE], bytes[UNITS_TEXT_SIZE], sites[AMOUNT_SIZE];

	page_unlimited(view->page);
	page_text(view->page, STYLE_PLAIN, "SUMMARY: ");
	page_name(view->page, STYLE_PLAIN, process_name(process), NAME_COLUMNS);
	page_format(view->page, STYLE_PLAIN, " (%u): %s, %s still live at %s", process->pid,
		    amount_of(process->live.blocks, "block", blocks),
		    bytes_format(process->live.bytes, bytes), amount_of(live.count, "site", sites));
	if (live.worst)
		write_worst(view, live.worst);
	page_end(view->page);
}

static void write_process(const struct view *view)
{
	text_heading(view);
	if (!view->options->worst_last)
		write_books(view);
	write_sites(view);
	if (view->options->worst_last)
		write_books(view);
	write_summary(view);
}

/* A process that ran several images has a section for each; what the former ones left is gone. */
static void write_total(struct page *page, const struct snapshot *snapshot)
{
	uint64_t blocks = 0, bytes = 0, processes = 0;
	char amount[AMOUNT_SIZE], size[UNITS_TEXT_SIZE], number[AMOUNT_SIZE];

	for (size_t i = 0; i < snapshot->process_count; i++) {
		if (snapshot->processes[i].replaced)
			continue;
		blocks += snapshot->processes[i].live.blocks;
		bytes += snapshot->processes[i].live.bytes;
		processes++;
	}
	snprintf(number, sizeof(number), "%llu %s", (unsigned long long)processes,
		 processes == 1 ? "process" : "processes");
	page_end(page);
	page_unlimited(page);
	page_format(page, STYLE_PLAIN, "TOTAL: %s: %s, %s still live", number,
		    amount_of(blocks, "block", amount), bytes_format(bytes, size));
	page_end(page);
}

static struct page page_of(const struct sink_options *options, FILE *file)
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

static int text_write(const struct snapshot *snapshot, const struct sink_options *options,
		      FILE *out)
{
	struct page page = page_of(options, out);

	for (size_t i = 0; i < snapshot->process_count && !page.out.err; i++) {
		struct view view = {&page, snapshot, &snapshot->processes[i], options};

		if (i)
			page_end(&page);
		write_process(&view);
	}
	if (!snapshot->process_count)
		page_sentence(&page, STYLE_PLAIN, 0, "No process was traced.");
	if (snapshot->process_count > 1)
		write_total(&page, snapshot);
	return page_finish(&page);
}

const struct sink sink_text = {.name = "text", .write = text_write};
