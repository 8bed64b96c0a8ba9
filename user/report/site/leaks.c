/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites with leaked blocks, in their own order: the most important first. */
#include "report/site/leaks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/frame.h"
#include "report/common/page.h"
#include "report/site/row.h"
#include "report/text/view.h"

#define ITEM_SIZE (AMOUNT_SIZE * 2)

static struct snapshot_sum sum_leaked(const struct snapshot_leaks *leaks)
{
	return snapshot_leaked(leaks->classes);
}

/* Sites with leaked blocks are in the list of leaks instead. */
static struct snapshot_sum sum_possible(const struct snapshot_leaks *leaks)
{
	struct snapshot_sum none = {0};

	return sum_leaked(leaks).blocks ? none : leaks->classes[LEAK_POSSIBLE];
}

/* Sites in one of the other lists are not repeated here. */
static struct snapshot_sum sum_stack(const struct snapshot_leaks *leaks)
{
	struct snapshot_sum none = {0};

	return sum_leaked(leaks).blocks || sum_possible(leaks).blocks ? none
								      : leaks->classes[LEAK_STACK];
}

/* A list: all sites for which `sum` counts any blocks. */
struct leak_kind {
	const char *title;
	struct snapshot_sum (*sum)(const struct snapshot_leaks *leaks);
	const char *order[2];    /* worst first, worst last */
	uint32_t only_if_listed; /* leak classes; 0: always. -v lists every kind */
};

static const struct leak_kind kind_leaked = {
	"Leaks", sum_leaked, {"sorted by leaked bytes", "sorted by leaked bytes, worst last"}, 0};
static const struct leak_kind kind_possible = {"Possible leaks",
					       sum_possible,
					       {"sorted by bytes", "sorted by bytes, worst last"},
					       LEAK_BIT(LEAK_POSSIBLE)};
static const struct leak_kind kind_stack = {"Referenced only from a stack",
					    sum_stack,
					    {"sorted by bytes", "sorted by bytes, worst last"},
					    LEAK_BIT(LEAK_STACK)};

/* The most serious list first. */
static const struct leak_kind *const kinds[] = {&kind_leaked, &kind_possible, &kind_stack};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct leak_list {
	const struct leak_kind *kind;
	const struct snapshot_site **sites; /* sorted, worst first */
	size_t count;
	size_t shown;
	uint64_t bytes; /* sum over all sites */
	struct row_columns columns;
};

/* Sites with definite leaks come before sites with only indirect ones. */
static int compare_leaks(const void *a, const void *b, void *ctx)
{
	const struct leak_kind *kind = ctx;
	const struct snapshot_site *left = *(const struct snapshot_site *const *)a;
	const struct snapshot_site *right = *(const struct snapshot_site *const *)b;
	uint64_t left_bytes = kind->sum(&left->leaks).bytes;
	uint64_t right_bytes = kind->sum(&right->leaks).bytes;
	bool left_own = left->leaks.classes[LEAK_DEFINITE].blocks;
	bool right_own = right->leaks.classes[LEAK_DEFINITE].blocks;

	if (left_own != right_own)
		return left_own ? -1 : 1;
	if (left_bytes != right_bytes)
		return left_bytes < right_bytes ? 1 : -1;
	return (left->id > right->id) - (left->id < right->id);
}

const struct snapshot_site *worst_leak(const struct snapshot_process *process)
{
	const struct snapshot_site *worst = NULL, *site;

	for (size_t i = 0; i < process->site_count; i++) {
		site = &process->sites[i];
		if (!worst || compare_leaks(&site, &worst, (void *)&kind_leaked) < 0)
			worst = site;
	}
	return worst && worst->leaks.classes[LEAK_DEFINITE].blocks ? worst : NULL;
}

static struct row row_of(const struct leak_list *list, size_t index)
{
	const struct snapshot_site *site = list->sites[index];

	return (struct row){
		.rank = index + 1,
		.sum = list->kind->sum(&site->leaks),
		.whole = list->bytes,
		.noun = "block",
		.api = site->api,
	};
}

static void list_collect(struct leak_list *list, const struct snapshot_process *process)
{
	for (size_t i = 0; i < process->site_count; i++) {
		struct snapshot_sum sum = list->kind->sum(&process->sites[i].leaks);

		if (!sum.blocks)
			continue;
		list->sites[list->count++] = &process->sites[i];
		list->bytes += sum.bytes;
	}
	if (list->count)
		qsort_r(list->sites, list->count, sizeof(list->sites[0]), compare_leaks,
			(void *)list->kind);
}

static void list_layout(struct leak_list *list, const struct view *view)
{
	uint32_t top = view->options->top;

	list->shown = top && top < list->count ? top : list->count;
	for (size_t i = 0; i < list->shown; i++) {
		struct row row = row_of(list, i);

		row_measure(&list->columns, view->page, &row);
	}
}

static void write_title(const struct view *view, const struct leak_list *list)
{
	struct page *page = view->page;
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);
	char number[UNITS_TEXT_SIZE], sites[AMOUNT_SIZE], text[ITEM_SIZE];

	page_text(page, STYLE_STRONG, list->kind->title);
	amount_of(list->count, "site", sites);
	if (list->shown < list->count)
		snprintf(text, sizeof(text), "%s of %s", count_format(list->shown, number), sites);
	else
		snprintf(text, sizeof(text), "%s", sites);
	page_item(page, STYLE_QUIET, TEXT_INDENT, separator, text);
	page_item(page, STYLE_QUIET, TEXT_INDENT, separator,
		  list->kind->order[view->options->worst_last]);
	page_end(page);
	page_end(page);
}

/* ---- one site ---- */

/* The classes to list if the blocks of a site are not all of one class. */
static const enum leak_class part_classes[] = {LEAK_DEFINITE, LEAK_INDIRECT, LEAK_POSSIBLE,
					       LEAK_STACK, LEAK_UNKNOWN};

#define PARTS (sizeof(part_classes) / sizeof(part_classes[0]))

static void write_id(const struct view *view, const struct snapshot_site *site)
{
	char item[ITEM_SIZE];

	if (!view->options->ids)
		return;
	snprintf(item, sizeof(item), "site %u", site->id);
	page_item(view->page, STYLE_PLAIN, STACK_INDENT, page_symbol(view->page, SYMBOL_SEPARATOR),
		  item);
}

static void write_parts(const struct view *view, const struct snapshot_leaks *leaks)
{
	char bytes[UNITS_TEXT_SIZE], blocks[AMOUNT_SIZE], item[ITEM_SIZE];
	const char *separator = page_symbol(view->page, SYMBOL_SEPARATOR);
	size_t parts = 0;

	for (size_t i = 0; i < PARTS; i++)
		parts += leaks->classes[part_classes[i]].blocks != 0;
	for (size_t i = 0; i < PARTS; i++) {
		const struct snapshot_sum *sum = &leaks->classes[part_classes[i]];
		const char *name = leak_class_words(part_classes[i]);

		if (!sum->blocks)
			continue;
		if (parts == 1)
			snprintf(item, sizeof(item), "all %s", name);
		else
			snprintf(item, sizeof(item), "%s %s in %s", name,
				 bytes_format(sum->bytes, bytes),
				 amount_of(sum->blocks, "block", blocks));
		page_item(view->page, STYLE_QUIET, STACK_INDENT, separator, item);
	}
}

static void write_age(const struct view *view, const char *label, uint64_t since_ns)
{
	char duration[AMOUNT_SIZE], item[ITEM_SIZE];
	uint64_t age = amount_between(since_ns, view->process->scan.taken_ns);

	snprintf(item, sizeof(item), "%s%s", label,
		 amount_duration(age, view->page->utf8, duration));
	page_item(view->page, STYLE_QUIET, STACK_INDENT, page_symbol(view->page, SYMBOL_SEPARATOR),
		  item);
}

/* Ages of the definite leaks. */
static void write_ages(const struct view *view, const struct snapshot_leaks *leaks)
{
	if (!leaks->classes[LEAK_DEFINITE].blocks || !leaks->oldest_ns)
		return;
	if (leaks->oldest_ns == leaks->youngest_ns) {
		write_age(view, "age ", leaks->oldest_ns);
		return;
	}
	write_age(view, "oldest ", leaks->oldest_ns);
	write_age(view, "youngest ", leaks->youngest_ns);
}

/* "48 65 6c 6c 6f 20 77 6f  72 6c 64 00", "Hello world." */
static void dump_bytes(const struct snapshot_example *example, char hex[EXAMPLE_BYTES * 3 + 2],
		       char text[EXAMPLE_BYTES + 1])
{
	uint32_t count = example->read;
	size_t used = 0;

	for (uint32_t i = 0; i < count && i < EXAMPLE_BYTES; i++) {
		const char *gap = i % 8 ? " " : "  ";
		uint8_t byte = example->bytes[i];

		used += (size_t)sprintf(hex + used, "%s%02x", i ? gap : "", byte);
		text[i] = byte >= ' ' && byte <= '~' ? (char)byte : '.';
		text[i + 1] = '\0';
	}
}

/* "resident", "4.0 KiB of it resident, 8.0 KiB swapped out", "not resident: never written" */
static const char *residence_of(const struct snapshot_example *example, char text[ITEM_SIZE])
{
	char resident[UNITS_TEXT_SIZE], swapped[UNITS_TEXT_SIZE];

	if (!example->looked)
		return "content not read";
	if (example->resident >= example->size)
		return "resident";
	if (example->swapped >= example->size)
		return "swapped out";
	if (!example->resident && !example->swapped)
		return "not resident: never written";
	snprintf(text, ITEM_SIZE, "%s of it resident", bytes_format(example->resident, resident));
	if (example->swapped)
		snprintf(text + strlen(text), ITEM_SIZE - strlen(text), ", %s swapped out",
			 bytes_format(example->swapped, swapped));
	return text;
}

static void write_example(const struct view *view, enum leak_class leak,
			  const struct snapshot_example *example)
{
	char hex[EXAMPLE_BYTES * 3 + 2] = "", text[EXAMPLE_BYTES + 1] = "";
	char bytes[UNITS_TEXT_SIZE], item[ITEM_SIZE];
	struct page *page = view->page;
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);

	dump_bytes(example, hex, text);
	snprintf(item, sizeof(item), "for example %s at 0x%" PRIx64,
		 bytes_format(example->size, bytes), example->address);
	page_item(page, STYLE_QUIET, STACK_INDENT, separator, item);
	page_item(page, STYLE_QUIET, STACK_INDENT, separator, leak_class_words(leak));
	if (example->size)
		page_item(page, STYLE_QUIET, STACK_INDENT, separator, residence_of(example, item));
	page_end(page);
	if (!*hex)
		return;
	page_item(page, STYLE_PLAIN, STACK_INDENT + 2, "  ", hex);
	page_item(page, STYLE_QUIET, STACK_INDENT + 2, "  ", text);
	page_end(page);
}

/* One example for each class of the site's blocks. */
static void write_examples(const struct view *view, const struct snapshot_leaks *leaks)
{
	for (size_t i = 0; view->options->verbose && i < PARTS; i++) {
		enum leak_class leak = part_classes[i];

		if (leaks->classes[leak].blocks && leaks->examples[leak].address)
			write_example(view, leak, &leaks->examples[leak]);
	}
}

static void write_site(const struct view *view, const struct leak_list *list, size_t index)
{
	const struct snapshot_site *site = list->sites[index];
	struct row row = row_of(list, index);

	row_write(view->page, &list->columns, &row);
	write_id(view, site);
	write_parts(view, &site->leaks);
	write_ages(view, &site->leaks);
	page_end(view->page);
	write_examples(view, &site->leaks);
	stack_write(view->page, site_stack(view->process, site), STACK_INDENT,
		    view->options->long_frames);
	page_end(view->page);
}

/* ---- the lists ---- */

static void write_omission(const struct view *view, const struct leak_list *list)
{
	char sites[AMOUNT_SIZE], note[ITEM_SIZE];

	if (list->shown == list->count)
		return;
	snprintf(note, sizeof(note), "%s not shown: --top 0 shows all",
		 amount_of(list->count - list->shown, "more site", sites));
	row_note(view->page, note);
	page_end(view->page);
}

static void list_write(const struct view *view, const struct leak_list *list)
{
	bool backwards = view->options->worst_last;

	write_title(view, list);
	if (backwards)
		write_omission(view, list);
	for (size_t i = 0; i < list->shown; i++)
		write_site(view, list, backwards ? list->shown - 1 - i : i);
	if (!backwards)
		write_omission(view, list);
}

static bool is_listed(const struct format_options *options, const struct leak_kind *kind)
{
	return options->verbose || !kind->only_if_listed || options->listed & kind->only_if_listed;
}

static void write_kind(const struct view *view, const struct leak_kind *kind)
{
	struct leak_list list = {.kind = kind};

	if (!view->process->scan.done || !is_listed(view->options, kind))
		return;
	list.sites = calloc(view->process->site_count + 1, sizeof(list.sites[0]));
	if (!list.sites) {
		out_fail(&view->page->out, -ENOMEM);
		return;
	}
	list_collect(&list, view->process);
	list_layout(&list, view);
	if (list.count)
		list_write(view, &list);
	free(list.sites);
}

void text_leaks(const struct view *view)
{
	bool worst_last = view->options->worst_last;

	for (size_t i = 0; i < KINDS; i++)
		write_kind(view, kinds[worst_last ? KINDS - 1 - i : i]);
}

/* ---- suppressions ---- */

struct use {
	const char *name;
	struct snapshot_sum sum;
	size_t sites;
};

/* Sums up what each suppression excused. Returns the number of suppressions used. */
static size_t uses_collect(const struct snapshot_process *process, struct use *uses)
{
	size_t count = 0, i;

	for (size_t site = 0; site < process->site_count; site++) {
		const struct snapshot_leaks *leaks = &process->sites[site].leaks;

		if (!leaks->suppressed_by)
			continue;
		for (i = 0; i < count && strcmp(uses[i].name, leaks->suppressed_by); i++)
			;
		count += i == count;
		uses[i].name = leaks->suppressed_by;
		uses[i].sum.blocks += leaks->suppressed.blocks;
		uses[i].sum.bytes += leaks->suppressed.bytes;
		uses[i].sites++;
	}
	return count;
}

static void write_use(struct page *page, const struct use *use)
{
	char bytes[UNITS_TEXT_SIZE], blocks[AMOUNT_SIZE], sites[AMOUNT_SIZE],
		amount[AMOUNT_SIZE * 4];

	page_to(page, TEXT_INDENT);
	snprintf(amount, sizeof(amount), "%s in %s at %s: ", bytes_format(use->sum.bytes, bytes),
		 amount_of(use->sum.blocks, "block", blocks), amount_of(use->sites, "site", sites));
	page_text(page, STYLE_PLAIN, amount);
	if (page->column + 8 < page->width)
		page_name(page, STYLE_STRONG, use->name, page->width - page->column);
	page_end(page);
}

void text_suppressed(const struct view *view)
{
	const struct snapshot_process *process = view->process;
	struct use *uses;
	size_t count;

	if (!view->options->verbose || !process->scan.suppressed.blocks)
		return;
	uses = calloc(process->site_count + 1, sizeof(*uses));
	if (!uses) {
		out_fail(&view->page->out, -ENOMEM);
		return;
	}
	count = uses_collect(process, uses);
	page_text(view->page, STYLE_STRONG, "Suppressed");
	page_end(view->page);
	page_end(view->page);
	for (size_t i = 0; i < count; i++)
		write_use(view->page, &uses[i]);
	page_end(view->page);
	free(uses);
}
