// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands that look again and again: top, watch, wait. */
#include "app/shell_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "os/proc.h"
#include "sink/amount.h"
#include "sink/text.h"

#define HEADER_LINES 3
#define LINE_SIZE    256
#define HOME         "\033[H"
#define CLEAR_LINE   "\033[K"
#define CLEAR_REST   "\033[J"

/* ---- top ---- */

struct top {
	struct shell *shell;
	struct shell_choice choice;
	bool by_growth;
	struct shell_view first;  /* changes are since then */
	struct shell_view before; /* rates are since then; no snapshot: as first */
	uint64_t shown_ns;
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
	put_change(page, (int64_t)(now.live.bytes - first.live.bytes));
	if (interval_ns) {
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

/* Of all that is collected, the worst that fit on the screen. */
static int draw_rows(struct top *top, struct page *page, const struct shell_view *view,
		     const struct shell_view *before, size_t room, struct error *err)
{
	struct site_look look = {.now_ns = view->snapshot->taken_ns,
				 .sort = top->choice.sort,
				 .several = view->several,
				 .changes = true};
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
		rows.list.items[i].interval_ns =
			view->snapshot->taken_ns - before->snapshot->taken_ns;
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

/* Over the last picture, line by line, so that nothing flickers. */
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

static int draw(struct top *top, const struct shell_view *view, struct error *err)
{
	const struct shell_view *before = top->before.snapshot ? &top->before : &top->first;
	size_t screen = shell_screen_rows(top->shell);
	size_t room = screen > HEADER_LINES + 1 ? screen - HEADER_LINES - 1 : screen ? 1 : 0;
	struct page page = shell_page(top->shell);
	char *text = NULL;
	size_t size;
	int code;

	page.out.file = open_memstream(&text, &size);
	if (!page.out.file)
		return error_set(err, -ENOMEM, "out of memory");
	put_header(top, &page, view, before);
	page_end(&page);
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

/* Where nobody looks, once is enough. */
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

/* "growth" is no key of reports: they know no earlier time. */
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

/* ---- watch ---- */

struct watch {
	struct shell *shell;
	const struct shell_command *command;
	char *const *words;
	char *last;
	bool shown;
};

static void put_time(FILE *out, bool utf8)
{
	char text[LINE_SIZE];
	time_t now = time(NULL);
	struct tm local;

	localtime_r(&now, &local);
	strftime(text, sizeof(text), "%H:%M:%S", &local);
	fprintf(out, utf8 ? "── %s\n" : "-- %s\n", text);
}

/* What the command says now; NULL with words if it fails. */
static char *watch_look(struct watch *watch, struct error *err)
{
	struct shell *shell = watch->shell;
	struct shell_output seen = shell->output;
	char *text = NULL;
	size_t size;
	int code;

	shell->output.stream = open_memstream(&text, &size);
	if (!shell->output.stream) {
		shell->output = seen;
		error_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	shell->output.direct = false;
	code = watch->command->run(shell, watch->words, err);
	if (fclose(shell->output.stream) && !code)
		code = error_set(err, -ENOMEM, "out of memory");
	shell->output = seen;
	if (!code)
		return text;
	free(text);
	return NULL;
}

static int watch_once(struct watch *watch, struct error *err)
{
	FILE *out = watch->shell->output.stream;
	char *text = watch_look(watch, err);

	if (!text)
		return err->code;
	if (!watch->last || strcmp(watch->last, text)) {
		put_time(out, terminal_utf8());
		fputs(text, out);
	}
	free(watch->last);
	watch->last = text;
	return fflush(out) ? error_set_errno(err, -errno, "cannot write") : 0;
}

static int watch_find(struct watch *watch, char *const *words, struct error *err)
{
	static char site[] = "site";
	bool is_site = words[0] && strspn(words[0], "0123456789:") == strlen(words[0]);

	if (!words[0])
		return error_set(err, -EINVAL, "usage");
	watch->command = shell_command_find(is_site ? site : words[0], err);
	watch->words = is_site ? words : words + 1;
	if (!watch->command)
		return err->code;
	if (watch->command->streams || watch->command->run == shell_do_quit)
		return error_set(err, -EINVAL, "%s cannot be watched", watch->command->name);
	return 0;
}

/* Until a key is pressed; where there are none, until all that is traced has ended. */
static bool goes_on(struct shell *shell, enum shell_wake wake)
{
	return wake == SHELL_WAKE_TIME && (shell->terminal || session_live(shell->config.session));
}

int shell_do_watch(struct shell *shell, char *const *words, struct error *err)
{
	uint64_t interval_ns = shell->settings.interval_ns;
	struct watch watch = {.shell = shell};
	struct shell_keys *keys;
	enum shell_wake wake;
	int code;

	if (words[0] && strspn(words[0], "0123456789") && !duration_parse(words[0], &interval_ns))
		words++;
	code = watch_find(&watch, words, err);
	if (code)
		return code;
	keys = shell_keys_begin(shell);
	do {
		code = watch_once(&watch, err);
		wake = code ? SHELL_WAKE_OVER : shell_wait(shell, keys, interval_ns);
	} while (goes_on(shell, wake));
	shell_keys_end(keys);
	free(watch.last);
	return code;
}

/* ---- wait ---- */

#define LOOK_NS 100000000ULL

int shell_do_wait(struct shell *shell, char *const *words, struct error *err)
{
	enum shell_wake wake = SHELL_WAKE_TIME;
	struct shell_keys *keys;
	uint64_t ns = 0;
	const char *word;
	int code = shell_one_word(words, "duration", &word, err);

	if (code)
		return code;
	if (word && duration_parse(word, &ns))
		return error_set(err, -EINVAL, "\"%.40s\" is not a duration like 500ms, 10s or 5m",
				 word);
	keys = shell_keys_begin(shell);
	if (word)
		shell_wait(shell, keys, ns);
	else
		while (wake == SHELL_WAKE_TIME && session_live(shell->config.session))
			wake = shell_wait(shell, keys, LOOK_NS);
	shell_keys_end(keys);
	return 0;
}
