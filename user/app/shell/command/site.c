// SPDX-License-Identifier: GPL-2.0-or-later
/* Single sites, found by id or by a pattern in their stacks. */
#include "app/shell/command/site.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "app/shell/arguments.h"
#include "app/shell/command/source.h"
#include "app/shell/commands.h"
#include "app/shell/output.h"
#include "app/shell/state.h"
#include "app/shell/view.h"
#include "base/pattern.h"
#include "base/units.h"
#include "report/common/amount.h"
#include "report/common/frame.h"
#include "report/site/card.h"

/* ---- site ---- */

struct site_address {
	pid_t pid; /* 0: not given */
	uint32_t id;
};

static int address_parse(const char *word, struct site_address *ret_address, struct error *err)
{
	const char *colon = strchr(word, ':');
	uint64_t pid = 0, id;
	char text[UNITS_TEXT_SIZE];

	if (colon) {
		snprintf(text, sizeof(text), "%.*s", (int)(colon - word), word);
		if (number_parse(text, INT32_MAX, &pid) || !pid)
			colon = NULL;
	}
	if (number_parse(colon ? colon + 1 : word, UINT32_MAX, &id))
		return error_set(err, -EINVAL, "\"%.40s\" is not a site: ID or PID:ID", word);
	*ret_address = (struct site_address){(pid_t)pid, (uint32_t)id};
	return 0;
}

static const struct snapshot_site *site_of(const struct snapshot_process *process, uint32_t id)
{
	for (size_t i = 0; i < process->site_count; i++)
		if (process->sites[i].id == id)
			return &process->sites[i];
	return NULL;
}

/* Finds the only process that has a site with this id. */
static int find_site(const struct shell_view *view, uint32_t id, struct site_row *ret_row,
		     struct error *err)
{
	size_t found = 0;

	for (size_t i = 0; i < view->snapshot->process_count; i++) {
		const struct snapshot_process *process = &view->snapshot->processes[i];
		const struct snapshot_site *site = site_of(process, id);

		if (!site)
			continue;
		*ret_row = (struct site_row){.process = process, .site = site};
		found++;
	}
	if (found == 1)
		return 0;
	if (!found)
		return error_set(err, -ENOENT, "no site %u", id);
	return error_set(err, -EINVAL, "%zu processes have a site %u: name one as %u:%u", found, id,
			 ret_row->process->pid, id);
}

static void cut_stack(const struct shell *shell, const struct snapshot_process *process,
		      const struct snapshot_site *site)
{
	uint32_t depth = shell->settings.depth;

	if (depth && site->stack < process->stack_count &&
	    process->stacks[site->stack].frame_count > depth)
		process->stacks[site->stack].frame_count = depth;
}

int shell_site_find(struct shell *shell, const char *word, struct shell_view *ret_view,
		    struct site_row *ret_row, struct error *err)
{
	struct site_address address = {0};
	int code = address_parse(word, &address, err);

	if (!code)
		code = shell_view_open(shell, address.pid ? address.pid : shell->settings.pid,
				       ret_view, err);
	if (code)
		return code;
	code = find_site(ret_view, address.id, ret_row, err);
	if (code)
		shell_view_close(ret_view);
	return code;
}

static void write_source(struct page *page, const struct snapshot_process *process,
			 const struct snapshot_site *site)
{
	const struct snapshot_stack *stack = site_stack(process, site);

	if (stack)
		shell_source_write(page, stack_culprit(stack));
}

static int show_site(struct shell *shell, const char *word, struct error *err)
{
	struct page page = shell_page(shell);
	struct shell_rows rows = {0};
	struct site_table_options look = {0};
	struct shell_view view;
	struct site_row row;
	int code = shell_site_find(shell, word, &view, &row, err);

	if (code)
		return code;
	if (vec_push(&rows.list, row))
		code = error_set(err, -ENOMEM, "out of memory");
	if (!code)
		code = shell_rows_name(shell, &view, &rows, 1, err);
	if (!code) {
		look.now_ns = view.snapshot->taken_ns;
		cut_stack(shell, row.process, row.site);
		site_card_write(&page, row.process, row.site, &look, shell->settings.long_frames);
		write_source(&page, row.process, row.site);
	}
	vec_free(&rows.list);
	shell_view_close(&view);
	return code;
}

int shell_do_site(struct shell *shell, char *const *words, struct error *err)
{
	int code = words[0] ? 0 : error_set(err, -EINVAL, "usage");

	for (size_t i = 0; !code && words[i]; i++) {
		if (i)
			fputc('\n', shell->output.stream);
		code = show_site(shell, words[i], err);
	}
	return code;
}

/* ---- grep ---- */

static bool has_capital(const char *pattern)
{
	for (; *pattern; pattern++)
		if (isupper((unsigned char)*pattern))
			return true;
	return false;
}

static int grep_compile(const char *pattern, regex_t *ret_regex, struct error *err)
{
	char reason[PATTERN_REASON_SIZE];
	int code = pattern_compile(pattern, has_capital(pattern) ? 0 : REG_ICASE, ret_regex, NULL,
				   reason);

	if (code == -EINVAL)
		return error_set(err, code, "cannot use \"%.80s\" as a regular expression: %s",
				 pattern, reason);
	return code ? error_set(err, code, "out of memory") : 0;
}

static bool text_matches(const regex_t *regex, const char *text)
{
	return text && !regexec(regex, text, 0, NULL, 0);
}

static bool row_matches(const regex_t *regex, const struct site_row *row)
{
	const struct snapshot_stack *stack = site_stack(row->process, row->site);

	for (uint32_t i = 0; stack && i < stack->frame_count; i++) {
		const struct snapshot_frame *frame = &stack->frames[i];

		if (text_matches(regex, frame->function) || text_matches(regex, frame->file) ||
		    text_matches(regex, frame->module))
			return true;
	}
	return false;
}

static void keep_matches(const regex_t *regex, struct shell_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->list.count; i++)
		if (row_matches(regex, &rows->list.items[i]))
			rows->list.items[kept++] = rows->list.items[i];
	rows->list.count = kept;
}

static void write_matches(struct shell *shell, const struct shell_view *view,
			  const struct shell_rows *rows)
{
	struct page page = shell_page(shell);
	struct site_table_options look = {.now_ns = view->snapshot->taken_ns,
					  .sort = shell->settings.sort,
					  .several = view->several};
	size_t shown = shell_rows_shown(shell, rows);
	char text[AMOUNT_SIZE];

	site_table_write(&page, rows->list.items, shown, &look);
	page_to(&page, 2);
	page_format(&page, STYLE_QUIET, "%s", amount_of(rows->list.count, "site", text));
	page_end(&page);
	shell_rows_note(shell, &page, rows, shown);
}

static int grep(struct shell *shell, const regex_t *regex, pid_t pid, struct error *err)
{
	struct shell_view view;
	struct shell_rows rows = {0};
	int code = shell_view_open(shell, pid, &view, err);

	if (code)
		return code;
	/* also sites without live blocks: the user searches for a place in the code */
	code = shell_rows_collect(shell, &view, NULL, SORT_ALLOCATIONS, &rows, err);
	if (!code)
		code = shell_rows_name(shell, &view, &rows, rows.list.count, err);
	if (!code) {
		keep_matches(regex, &rows);
		shell_rows_sort(&rows, shell->settings.sort);
		write_matches(shell, &view, &rows);
	}
	if (!code && shell->interrupted)
		code = error_set(err, -EINTR, "interrupted: not all sites were searched");
	vec_free(&rows.list);
	shell_view_close(&view);
	return code;
}

int shell_do_grep(struct shell *shell, char *const *words, struct error *err)
{
	struct shell_choice choice;
	regex_t regex;
	int code;

	if (!words[0] || !*words[0])
		return error_set(err, -EINVAL, "usage");
	code = shell_choose(shell, words + 1, SHELL_TAKES_PID, &choice, err);
	if (!code)
		code = grep_compile(words[0], &regex, err);
	if (code)
		return code;
	code = grep(shell, &regex, choice.pid, err);
	regfree(&regex);
	return code;
}
