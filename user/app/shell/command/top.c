// SPDX-License-Identifier: GPL-2.0-or-later
/* The worst sites, updated repeatedly. */
#include "app/shell/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/shell/arguments.h"
#include "app/shell/output.h"
#include "app/shell/state.h"
#include "app/shell/view.h"
#include "app/shell/wait.h"
#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/page.h"

#define LINE_SIZE  256
#define HOME       "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

struct top {
	struct shell *shell;
	struct shell_choice choice;
	bool by_growth;
	struct shell_view first;  /* baseline for changes */
	struct shell_view before; /* baseline for rates; no snapshot: `first` */
};

static int compare_growth(const void *a, const void *b)
{
	const struct site_row *left = a, *right = b;

	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? 1 : -1;
	return (left->site->id > right->site->id) - (left->site->id < right->site->id);
}

struct top_sums {
	struct snapshot_sum live;
	uint64_t calls;
	uint64_t losses;
};

static struct top_sums sums_of(const struct snapshot *snapshot)
{
	struct top_sums sums = {0};

	for (size_t i = 0; i < snapshot->process_count; i++) {
		const struct snapshot_process *process = &snapshot->processes[i];

		sums.live.blocks += process->live.blocks;
		sums.live.bytes += process->live.bytes;
		sums.calls += process->totals.allocations;
		sums.losses += process->losses.events;
	}
	return sums;
}

static void put_change(struct page *page, int64_t bytes)
{
	char text[UNITS_TEXT_SIZE], item[LINE_SIZE];

	snprintf(item, sizeof(item), "%c%s since top began", bytes < 0 ? '-' : '+',
		 bytes_format(bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes, text));
	page_item(page, bytes > 0 ? STYLE_WARNING : STYLE_PLAIN, 0,
		  page_symbol(page, SYMBOL_SEPARATOR), item);
}

static void put_header(const struct top *top, struct page *page, const struct shell_view *view,
		       const struct shell_view *before)
{
	struct top_sums now = sums_of(view->snapshot), then = sums_of(before->snapshot);
	struct top_sums first = sums_of(top->first.snapshot);
	uint64_t interval_ns = view->snapshot->taken_ns - before->snapshot->taken_ns;
	const char *separator = page_symbol(page, SYMBOL_SEPARATOR);
	char bytes[UNITS_TEXT_SIZE], text[AMOUNT_SIZE], item[LINE_SIZE];

	page_format(page, STYLE_STRONG, "%s",
		    amount_of(view->snapshot->process_count, "process", text));
	snprintf(item, sizeof(item), "%s live in %s", bytes_format(now.live.bytes, bytes),
		 amount_of(now.live.blocks, "block", text));
	page_item(page, STYLE_STRONG, 0, separator, item);
	if (first.live.bytes != now.live.bytes)
		put_change(page, (int64_t)(now.live.bytes - first.live.bytes));
	if (top->before.snapshot && interval_ns) {
		uint64_t rate =
			(uint64_t)((double)(now.calls - then.calls) * 1e9 / (double)interval_ns);

		snprintf(item, sizeof(item), "%s/s", amount_of(rate, "call", text));
		page_item(page, STYLE_PLAIN, 0, separator, item);
	}
	if (now.losses) {
		snprintf(item, sizeof(item), "%s lost", amount_of(now.losses, "event", text));
		page_item(page, STYLE_WARNING, 0, separator, item);
	}
	page_end(page);
}

/* Shows the worst rows that fit on the screen. */
static int draw_rows(struct top *top, struct page *page, const struct shell_view *view,
		     const struct shell_view *before, size_t room, struct error *err)
{
	struct site_table_options look = {.now_ns = view->snapshot->taken_ns,
					  .sort = top->choice.sort,
					  .several = view->several,
					  .changes = true};
	uint64_t interval_ns = view->snapshot->taken_ns - before->snapshot->taken_ns;
	struct shell_rows rows, rates;
	size_t shown;
	int code = shell_rows_collect(top->shell, view, top->first.snapshot, look.sort, &rows, err);

	if (code)
		return code;
	code = shell_rows_collect(top->shell, view, before->snapshot, look.sort, &rates, err);
	if (code) {
		vec_free(&rows.list);
		return code;
	}
	for (size_t i = 0; i < rows.list.count && i < rates.list.count; i++) {
		rows.list.items[i].calls = rates.list.items[i].calls;
		rows.list.items[i].interval_ns = top->before.snapshot ? interval_ns : 0;
	}
	if (top->by_growth && rows.list.count)
		qsort(rows.list.items, rows.list.count, sizeof(*rows.list.items), compare_growth);
	shown = shell_rows_shown(top->shell, &rows);
	shown = room && shown > room ? room : shown;
	code = shell_rows_name(top->shell, view, &rows, shown, err);
	if (!code)
		site_table_write(page, rows.list.items, shown, &look);
	vec_free(&rows.list);
	vec_free(&rates.list);
	return code;
}

/* Overwrites the last picture line by line to avoid flicker. */
static void put_screen(FILE *out, char *text, bool over)
{
	char *rest = text, *line;

	if (!over) {
		fputs(text, out);
		return;
	}
	fputs(HOME, out);
	while ((line = strsep(&rest, "\n")) && rest)
		fprintf(out, "%s" CLEAR_LINE "\n", line);
	fputs(CLEAR_REST, out);
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; text && (text = strchr(text, '\n')); text++)
		lines++;
	return lines;
}

static int draw(struct top *top, const struct shell_view *view, struct error *err)
{
	const struct shell_view *before = top->before.snapshot ? &top->before : &top->first;
	size_t screen = shell_screen_rows(top->shell), used, room;
	struct page page = shell_page(top->shell);
	char *text = NULL;
	size_t size;
	int code;

	page.out.file = open_memstream(&text, &size);
	if (!page.out.file)
		return error_set(err, -ENOMEM, "out of memory");
	put_header(top, &page, view, before);
	page_end(&page);
	fflush(page.out.file);
	used = count_lines(text) + 2; /* the titles, and the line of the cursor */
	room = screen > used ? screen - used : screen ? 1 : 0;
	code = draw_rows(top, &page, view, before, room, err);
	if (fclose(page.out.file) && !code)
		code = error_set(err, -ENOMEM, "out of memory");
	if (!code)
		put_screen(top->shell->output.stream, text, screen && top->shell->output.direct);
	if (fflush(top->shell->output.stream) && !code)
		code = error_set_errno(err, -errno, "cannot write");
	free(text);
	return code;
}

/* Without a terminal, runs once. */
static int top_run(struct top *top, struct shell_keys *keys, struct error *err)
{
	struct shell *shell = top->shell;
	enum shell_wake wake = SHELL_WAKE_TIME;
	struct shell_view view;
	int code = shell_view_open(shell, top->choice.pid, &top->first, err);

	if (code)
		return code;
	if (keys)
		fputs(HOME CLEAR_REST, shell->output.stream);
	while (!code && wake == SHELL_WAKE_TIME) {
		code = shell_view_open(shell, top->choice.pid, &view, err);
		if (code)
			break;
		code = draw(top, &view, err);
		shell_view_close(&top->before);
		top->before = view;
		if (!keys)
			break;
		wake = shell_wait(shell, keys, shell->settings.interval_ns);
	}
	shell_view_close(&top->before);
	shell_view_close(&top->first);
	return code;
}

/* "growth" is not a report sort key: reports have no earlier snapshot. */
static int top_choose(struct top *top, char *const *words, struct error *err)
{
	char *others[SHELL_WORDS_MAX + 1] = {NULL};
	size_t count = 0;

	for (; *words; words++) {
		if (!strcmp(*words, "growth"))
			top->by_growth = true;
		else
			others[count++] = *words;
	}
	return shell_choose(top->shell, others, SHELL_TAKES_PID | SHELL_TAKES_SORT, &top->choice,
			    err);
}

int shell_do_top(struct shell *shell, char *const *words, struct error *err)
{
	struct top top = {.shell = shell};
	struct shell_keys *keys;
	int code = top_choose(&top, words, err);

	if (code)
		return code;
	keys = shell->output.direct ? shell_keys_begin(shell) : NULL;
	code = top_run(&top, keys, err);
	shell_keys_end(keys);
	return code;
}
