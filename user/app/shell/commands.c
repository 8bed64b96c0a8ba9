// SPDX-License-Identifier: GPL-2.0-or-later
/* The command table: name, arguments, help and completion of each command. */
#include "app/shell/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/shell/output.h"
#include "report/format.h"

static const struct shell_command commands[] = {
	{"top", "[SORT|growth] [PID]", "the worst sites, refreshed until a key",
	 "Any key ends it. \"change\" is the change since top began. SORT is a key of --sort; "
	 "growth sorts by that change.",
	 SHELL_TAKES_PID | SHELL_TAKES_SORT, "growth", true, shell_do_top},
	{"site", "[PID:]ID", "one site: its stack, its source line",
	 "Lists show the ids of sites: PID:ID if several processes are traced.", SHELL_TAKES_SITE,
	 NULL, false, shell_do_site},
	{"suspects", "[PID]", "what grows, how fast, and why to look at it",
	 "Sites that have grown for at least ten seconds, the worst first. A scan adds details.",
	 SHELL_TAKES_PID, NULL, false, shell_do_suspects},
	{"dump", "[SORT] [-l] [PID]", "print the whole report, as at the end",
	 "-l shows the module of each frame.",
	 SHELL_TAKES_PID | SHELL_TAKES_SORT | SHELL_TAKES_LONG, NULL, false, shell_do_dump},
	{"grep", "PATTERN [PID]", "sites whose stacks match",
	 "PATTERN is an extended regular expression, matched against functions, source files "
	 "and modules. Case is ignored if PATTERN has no capitals.",
	 SHELL_TAKES_PID, NULL, false, shell_do_grep},
	{"scan", "[all|new|leak] [PID]", "scan for leaks now",
	 "all shows every leaking site, new those that leak more than at the last scan, leak "
	 "those that leaked at the last scan. \"set scan\" chooses how to scan.",
	 SHELL_TAKES_PID, "all|new|leak", false, shell_do_scan},
	{"mark", "[NAME]", "remember this moment, for diff",
	 "A mark takes the memory of a report. A new mark replaces one with the same name.",
	 SHELL_TAKES_MARK, NULL, false, shell_do_mark},
	{"diff", "[NAME] [PID]", "what changed since a mark",
	 "Without NAME, since the latest mark.", SHELL_TAKES_PID | SHELL_TAKES_MARK, NULL, false,
	 shell_do_diff},
	{"watch", "[EVERY] SITE|COMMAND", "repeat a command, print what changes",
	 "Any key ends it. EVERY is a duration like 10s; the default is \"set interval\".",
	 SHELL_TAKES_COMMAND | SHELL_TAKES_SITE, NULL, true, shell_do_watch},
	{"wait", "[DURATION]", "pause the script; tracing continues",
	 "Without DURATION, until all traced processes have exited. For scripts; any key ends it.",
	 0, NULL, true, shell_do_wait},
	{"status", "[PID]", "live memory, calls, leaks, dropped events", "", SHELL_TAKES_PID, NULL,
	 false, shell_do_status},
	{"proclist", "", "list processes that are or were traced", "", 0, NULL, false,
	 shell_do_proclist},
	{"stop", "[PID]", "stop counting new allocations",
	 "Frees are still counted, so blocks reported as live are live. Blocks allocated while "
	 "stopped are tracked but are in no total. Probes stay in place, so the program does not "
	 "run faster.",
	 SHELL_TAKES_PID, NULL, false, shell_do_stop},
	{"start", "[PID]", "count new allocations again", "", SHELL_TAKES_PID, NULL, false,
	 shell_do_start},
	{"reset", "[PID]", "set all totals to zero",
	 "Blocks that are live now no longer count in any total. Dropped events and process "
	 "information are kept. Marks are deleted.",
	 SHELL_TAKES_PID, NULL, false, shell_do_reset},
	{"save", "FILE", "write the report to FILE (FILE.json: JSON)", "Ignores the filters.",
	 SHELL_TAKES_FILE, NULL, false, shell_do_save},
	{"export", "FORMAT FILE", "write the report in any format", "Ignores the filters.",
	 SHELL_TAKES_FORMAT | SHELL_TAKES_FILE, NULL, false, shell_do_export},
	{"set", "NAME VALUE", "change order, filters, intervals …", "show lists all settings.",
	 SHELL_TAKES_SETTING | SHELL_TAKES_SORT, NULL, false, shell_do_set},
	{"show", "[NAME|info]", "show settings, or facts about this trace", "", SHELL_TAKES_SETTING,
	 "info", false, shell_do_show},
	{"help", "[COMMAND]", "explain a command", "", SHELL_TAKES_COMMAND, NULL, false,
	 shell_do_help},
	{"quit", "", "end the trace, not the programs",
	 "A launched program keeps running, untraced. No report is written unless --output or "
	 "--format=FILE was given.",
	 0, NULL, false, shell_do_quit},
	/* Aliases. */
	{" exit", "", "", "", 0, NULL, false, shell_do_quit},
	{" ?", "", "", "", 0, NULL, false, shell_do_help},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

const struct shell_command *shell_command_at(size_t i)
{
	return i < COMMAND_COUNT ? &commands[i] : NULL;
}

static const char *command_name(size_t i)
{
	return i < COMMAND_COUNT ? commands[i].name : NULL;
}

const struct shell_command *shell_command_find(const char *word, struct error *err)
{
	int index = shell_name_find("command", word, command_name, err);

	return index < 0 ? NULL : &commands[index];
}

static int run_words(struct shell *shell, const struct shell_words *words, struct error *err)
{
	const struct shell_command *command = shell_command_find(words->words[0], err);
	struct error shown;
	int code, end;

	if (!command)
		return err->code;
	code = shell_output_begin(shell, words, command->streams, err);
	if (code)
		return code;
	code = command->run(shell, words->words + 1, err);
	if (code == -EINVAL && !strcmp(err->text, "usage"))
		error_set(err, code, "usage: %s %s", command->name, command->arguments);
	end = shell_output_end(shell, code, &shown);
	if (!code && end)
		*err = shown;
	return code ? code : end;
}

int shell_run_line(struct shell *shell, const char *line, struct error *err)
{
	struct shell_words words;
	int code = shell_words_parse(&words, line, err);

	if (!code && words.count)
		code = run_words(shell, &words, err);
	shell_words_free(&words);
	return code;
}
