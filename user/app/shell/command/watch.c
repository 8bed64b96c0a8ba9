// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands that let the trace continue: watch, which prints changes, and wait. */
#include "app/shell/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/shell/arguments.h"
#include "app/shell/command/site.h"
#include "app/shell/output.h"
#include "app/shell/state.h"
#include "app/shell/view.h"
#include "app/shell/wait.h"
#include "base/units.h"
#include "report/common/amount.h"

#define LINE_SIZE 64

/* ---- watch ---- */

struct watch {
	struct shell *shell;
	const struct shell_command *command; /* NULL: watches a site */
	char *const *words;
	char *last;                /* last output of the command */
	struct snapshot_site site; /* last state */
	bool seen;
};

static const char *time_text(char text[LINE_SIZE])
{
	time_t now = time(NULL);
	struct tm local;

	localtime_r(&now, &local);
	snprintf(text, LINE_SIZE, "%02d:%02d:%02d", local.tm_hour, local.tm_min, local.tm_sec);
	return text;
}

/* Runs the command and returns its output; NULL with a message if it fails. */
static char *watch_run(struct watch *watch, struct error *err)
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
	char *text = watch_run(watch, err), at[LINE_SIZE];

	if (!text)
		return err->code;
	if (!watch->last || strcmp(watch->last, text)) {
		fprintf(out, terminal_utf8() ? "── %s\n" : "-- %s\n", time_text(at));
		fputs(text, out);
	}
	free(watch->last);
	watch->last = text;
	return fflush(out) ? error_set_errno(err, -errno, "cannot write") : 0;
}

static void put_signed(struct page *page, size_t columns, int64_t change, const char *text)
{
	char item[LINE_SIZE];

	snprintf(item, sizeof(item), "%c%s", change < 0 ? '-' : '+', text);
	page_to(page, page->column + 2);
	page_right(page, change > 0 ? STYLE_WARNING : STYLE_PLAIN, columns, change ? item : "");
}

/* "17:36:10   5.5 MiB  +460.9 KiB   3,602 blocks   +295   1,234 calls" */
static void put_site(const struct watch *watch, const struct snapshot_site *site)
{
	struct page page = shell_page(watch->shell);
	const struct snapshot_site *old = watch->seen ? &watch->site : site;
	int64_t bytes = (int64_t)(site->live_bytes - old->live_bytes);
	int64_t blocks = (int64_t)(site->live_blocks - old->live_blocks);
	char text[AMOUNT_SIZE], at[LINE_SIZE];

	page_text(&page, STYLE_QUIET, time_text(at));
	page_right(&page, STYLE_STRONG, 12, bytes_format(site->live_bytes, text));
	put_signed(&page, 12, bytes, bytes_format((uint64_t)llabs(bytes), text));
	page_right(&page, STYLE_PLAIN, 18, amount_of(site->live_blocks, "block", text));
	put_signed(&page, 8, blocks, count_format((uint64_t)llabs(blocks), text));
	if (watch->seen)
		page_right(&page, STYLE_PLAIN, 18,
			   amount_of(site->allocations - old->allocations, "call", text));
	page_end(&page);
}

static bool site_is_same(const struct snapshot_site *one, const struct snapshot_site *other)
{
	return one->allocations == other->allocations && one->frees == other->frees &&
	       one->live_bytes == other->live_bytes;
}

/* Everything that can change about a site fits on one line. */
static int watch_site(struct watch *watch, struct error *err)
{
	struct shell_view view;
	struct site_row row;
	int code = shell_site_find(watch->shell, watch->words[0], &view, &row, err);

	if (code)
		return code;
	if (!watch->seen || !site_is_same(&watch->site, row.site))
		put_site(watch, row.site);
	watch->site = *row.site;
	watch->seen = true;
	shell_view_close(&view);
	return fflush(watch->shell->output.stream) ? error_set_errno(err, -errno, "cannot write")
						   : 0;
}

static int watch_find(struct watch *watch, char *const *words, struct error *err)
{
	bool is_site = words[0] && strspn(words[0], "0123456789:") == strlen(words[0]);

	if (!words[0] || (is_site && words[1]))
		return error_set(err, -EINVAL, "usage");
	watch->words = is_site ? words : words + 1;
	if (is_site)
		return 0;
	watch->command = shell_command_find(words[0], err);
	if (!watch->command)
		return err->code;
	if (watch->command->streams || watch->command->run == shell_do_quit)
		return error_set(err, -EINVAL, "cannot watch %s", watch->command->name);
	return 0;
}

/* Until a key is pressed; without a terminal, until all traced processes have exited. */
static bool is_to_repeat(struct shell *shell, enum shell_wake wake)
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

	/* an interval has a unit; a number alone is a site */
	if (words[0] && strspn(words[0], "0123456789") && !duration_parse(words[0], &interval_ns))
		words++;
	code = watch_find(&watch, words, err);
	if (code)
		return code;
	keys = shell_keys_begin(shell);
	do {
		code = watch.command ? watch_once(&watch, err) : watch_site(&watch, err);
		wake = code ? SHELL_WAKE_OVER : shell_wait(shell, keys, interval_ns);
	} while (is_to_repeat(shell, wake));
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
