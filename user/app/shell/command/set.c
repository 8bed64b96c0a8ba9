// SPDX-License-Identifier: GPL-2.0-or-later
/* Settings: one table row each for set, show, completion and the list. */
#include "app/shell/commands.h"

#include <errno.h>
#include <string.h>

#include "app/shell/arguments.h"
#include "app/shell/output.h"
#include "app/shell/state.h"
#include "base/units.h"
#include "os/process/proc.h"
#include "report/common/amount.h"
#include "report/common/table.h"

#define VALUE_SIZE 1024

struct setting {
	const char *name;
	const char *value; /* allowed values, for the help */
	const char *help;
	int (*set)(struct shell *shell, const char *value, struct error *err);
	void (*show)(const struct shell *shell, char text[VALUE_SIZE]);
};

static int set_sort(struct shell *shell, const char *value, struct error *err)
{
	return shell_sort_parse(value, &shell->settings.sort, err);
}

static void show_sort(const struct shell *shell, char text[VALUE_SIZE])
{
	snprintf(text, VALUE_SIZE, "%s", sort_key_name(shell->settings.sort));
}

static int number(const char *value, uint64_t max, uint32_t *ret_number, struct error *err)
{
	uint64_t parsed;

	if (number_parse(value, max, &parsed))
		return error_set(err, -EINVAL, "\"%.40s\" is not a number from 0 to %llu", value,
				 (unsigned long long)max);
	*ret_number = (uint32_t)parsed;
	return 0;
}

static int set_top(struct shell *shell, const char *value, struct error *err)
{
	return number(value, UINT32_MAX, &shell->settings.top, err);
}

static void show_top(const struct shell *shell, char text[VALUE_SIZE])
{
	if (shell->settings.top)
		snprintf(text, VALUE_SIZE, "%u", shell->settings.top);
	else
		snprintf(text, VALUE_SIZE, "all");
}

static int set_depth(struct shell *shell, const char *value, struct error *err)
{
	return number(value, STACK_MAX_FRAMES, &shell->settings.depth, err);
}

static void show_depth(const struct shell *shell, char text[VALUE_SIZE])
{
	if (shell->settings.depth)
		snprintf(text, VALUE_SIZE, "%u", shell->settings.depth);
	else
		snprintf(text, VALUE_SIZE, "all");
}

static int set_min(struct shell *shell, const char *value, struct error *err)
{
	if (bytes_parse(value, &shell->settings.min_bytes))
		return error_set(err, -EINVAL, "\"%.40s\" is not a size like 4096, 64k or 1m",
				 value);
	return 0;
}

static void show_min(const struct shell *shell, char text[VALUE_SIZE])
{
	if (shell->settings.min_bytes)
		bytes_format(shell->settings.min_bytes, text);
	else
		snprintf(text, VALUE_SIZE, "0");
}

static bool is_nothing(const char *value)
{
	return !strcmp(value, "0") || !strcmp(value, "off");
}

static int set_older(struct shell *shell, const char *value, struct error *err)
{
	shell->settings.older_ns = is_nothing(value) ? 0 : shell->settings.older_ns;
	if (!is_nothing(value) && duration_parse(value, &shell->settings.older_ns))
		return error_set(err, -EINVAL, "\"%.40s\" is not a duration like 10s, 5m or 0",
				 value);
	return 0;
}

static void show_older(const struct shell *shell, char text[VALUE_SIZE])
{
	if (shell->settings.older_ns)
		amount_duration(shell->settings.older_ns, terminal_utf8(), text);
	else
		snprintf(text, VALUE_SIZE, "0");
}

static int set_pid(struct shell *shell, const char *value, struct error *err)
{
	return shell_pid_parse(value, &shell->settings.pid, err);
}

static void show_pid(const struct shell *shell, char text[VALUE_SIZE])
{
	if (shell->settings.pid)
		snprintf(text, VALUE_SIZE, "%d", (int)shell->settings.pid);
	else
		snprintf(text, VALUE_SIZE, "all");
}

static int set_long(struct shell *shell, const char *value, struct error *err)
{
	bool on = !strcmp(value, "on");

	if (!on && strcmp(value, "off"))
		return error_set(err, -EINVAL, "\"%.40s\" is neither on nor off", value);
	shell->settings.long_frames = on;
	return 0;
}

static void show_long(const struct shell *shell, char text[VALUE_SIZE])
{
	snprintf(text, VALUE_SIZE, "%s", shell->settings.long_frames ? "on" : "off");
}

#define INTERVAL_LEAST_NS 100000000ULL

static int set_interval(struct shell *shell, const char *value, struct error *err)
{
	uint64_t ns;

	if (duration_parse(value, &ns) || ns < INTERVAL_LEAST_NS)
		return error_set(err, -EINVAL,
				 "\"%.40s\" is not a duration like 500ms or 10s, 100ms at least",
				 value);
	shell->settings.interval_ns = ns;
	return 0;
}

static void show_interval(const struct shell *shell, char text[VALUE_SIZE])
{
	amount_duration(shell->settings.interval_ns, terminal_utf8(), text);
}

static int set_scan(struct shell *shell, const char *value, struct error *err)
{
	bool stop = !strcmp(value, "stop");

	if (!stop && strcmp(value, "live"))
		return error_set(err, -EINVAL, "\"%.40s\" is neither live nor stop", value);
	shell->settings.scan_stop = stop;
	return 0;
}

static void show_scan(const struct shell *shell, char text[VALUE_SIZE])
{
	snprintf(text, VALUE_SIZE, "%s", shell->settings.scan_stop ? "stop" : "live");
}

static int set_searchpath(struct shell *shell, const char *value, struct error *err)
{
	int code = parser_search(shell->config.session->parser, value);

	return code ? error_set(err, code, "out of memory") : 0;
}

static void show_searchpath(const struct shell *shell, char text[VALUE_SIZE])
{
	snprintf(text, VALUE_SIZE, "%s", parser_folders(shell->config.session->parser));
}

static const struct setting rows[] = {
	{"sort", "KEY", "order of lists, as --sort", set_sort, show_sort},
	{"top", "N", "sites shown of each process, 0 for all", set_top, show_top},
	{"min", "BYTES", "hide sites with fewer live bytes", set_min, show_min},
	{"older", "DURATION", "hide sites whose live blocks are younger, 0 for off", set_older,
	 show_older},
	{"pid", "PID|all", "process for commands without PID", set_pid, show_pid},
	{"depth", "N", "frames shown of a stack, 0 for all", set_depth, show_depth},
	{"long", "on|off", "the module of each frame, as --long", set_long, show_long},
	{"interval", "DURATION", "how often top and watch refresh", set_interval, show_interval},
	{"scan", "live|stop", "whether the process runs or is paused during a scan", set_scan,
	 show_scan},
	{"searchpath", "DIR:DIR", "more directories with debug information", set_searchpath,
	 show_searchpath},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

const char *shell_setting_name(size_t index)
{
	return index < ROW_COUNT ? rows[index].name : NULL;
}

int shell_do_set(struct shell *shell, char *const *words, struct error *err)
{
	int index;

	if (!words[0])
		return shell_do_show(shell, words, err);
	index = shell_name_find("setting", words[0], shell_setting_name, err);
	if (index < 0)
		return index;
	if (!words[1] || words[2])
		return error_set(err, -EINVAL, "usage: set %s %s", rows[index].name,
				 rows[index].value);
	return rows[index].set(shell, words[1], err);
}

/* ---- show ---- */

static const struct table_column setting_columns[] = {
	{.title = "setting"},
	{.title = "value"},
	{.title = "", .flexible = true, .rank = 1},
};

static void show_rows(const struct shell *shell, int only)
{
	struct page page = shell_page(shell);
	char text[VALUE_SIZE];
	struct table table;

	table_open(&table, &page, setting_columns,
		   sizeof(setting_columns) / sizeof(setting_columns[0]));
	for (int i = 0; i < (int)ROW_COUNT; i++) {
		if (only >= 0 && i != only)
			continue;
		rows[i].show(shell, text);
		table_text(&table, STYLE_PLAIN, rows[i].name);
		table_text(&table, STYLE_STRONG, text);
		table_text(&table, STYLE_QUIET, rows[i].help);
	}
	table_close(&table);
}

static const struct table_column info_columns[] = {
	{.title = NULL},
	{.title = NULL, .flexible = true},
};

static void show_info(const struct shell *shell)
{
	const struct options *options = shell->options;
	const struct session *session = shell->config.session;
	struct page page = shell_page(shell);
	char text[AMOUNT_SIZE];
	struct table table;

	table_open(&table, &page, info_columns, sizeof(info_columns) / sizeof(info_columns[0]));
	table_text(&table, STYLE_QUIET, "version");
	table_text(&table, STYLE_PLAIN, MTRACE_VERSION);
	table_text(&table, STYLE_QUIET, "source");
	table_text(&table, STYLE_PLAIN, session->report.backend);
	table_text(&table, STYLE_QUIET, "processes");
	table_cell(&table, STYLE_PLAIN, "%u traced now%s", session_live(session),
		   options->system   ? ", and all new ones that match"
		   : options->follow ? ", and their children"
				     : "");
	table_text(&table, STYLE_QUIET, "shell for");
	table_text(&table, STYLE_PLAIN,
		   amount_duration(clock_now_ns() - shell->started_ns, page.utf8, text));
	table_text(&table, STYLE_QUIET, "frames");
	table_cell(&table, STYLE_PLAIN, "at most %u recorded per stack (--depth)", options->depth);
	table_text(&table, STYLE_QUIET, "marks");
	table_cell(&table, STYLE_PLAIN, "%zu", shell->marks.count);
	table_close(&table);
}

static const char *shown_name(size_t index)
{
	return index == ROW_COUNT ? "info" : shell_setting_name(index);
}

int shell_do_show(struct shell *shell, char *const *words, struct error *err)
{
	int index = -1;

	if (words[0])
		index = shell_name_find("setting", words[0], shown_name, err);
	if (words[0] && index < 0)
		return index;
	if (index == (int)ROW_COUNT)
		show_info(shell);
	else
		show_rows(shell, index);
	return 0;
}
