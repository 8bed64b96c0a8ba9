// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/shell/commands.h"

#include <string.h>

#include "app/shell/arguments.h"
#include "app/shell/output.h"
#include "app/shell/state.h"
#include "report/common/table.h"

static const struct table_column help_columns[] = {
	{.title = NULL},
	{.title = NULL, .rank = 1},
	{.title = NULL, .flexible = true, .rank = 2},
};

static void help_all(struct page *page)
{
	const struct shell_command *command;
	struct table table;

	table_open(&table, page, help_columns, sizeof(help_columns) / sizeof(help_columns[0]));
	for (size_t i = 0; (command = shell_command_at(i)); i++) {
		if (command->name[0] == ' ')
			continue;
		table_text(&table, STYLE_STRONG, command->name);
		table_text(&table, STYLE_QUIET, command->arguments);
		table_text(&table, STYLE_PLAIN, command->help);
	}
	table_close(&table);
	page_end(page);
	page_sentence(
		page, STYLE_QUIET, 0,
		"Commands may be abbreviated if unambiguous. PID is a process id from proclist, "
		"or all (the default). > FILE and | COMMAND redirect the output of any command. "
		"^C interrupts a command.");
}

static void help_one(struct page *page, const struct shell_command *command)
{
	page_text(page, STYLE_STRONG, command->name);
	page_format(page, STYLE_PLAIN, " %s", command->arguments);
	page_end(page);
	page_to(page, 2);
	page_sentence(page, STYLE_PLAIN, 2, command->help);
	if (*command->more) {
		page_to(page, 2);
		page_sentence(page, STYLE_PLAIN, 2, command->more);
	}
}

int shell_do_help(struct shell *shell, char *const *words, struct error *err)
{
	struct page page = shell_page(shell);
	const struct shell_command *command;
	const char *word;
	int code = shell_one_word(words, "command", &word, err);

	if (code)
		return code;
	if (!word) {
		help_all(&page);
		return 0;
	}
	command = shell_command_find(word, err);
	if (!command)
		return err->code;
	help_one(&page, command);
	return 0;
}
