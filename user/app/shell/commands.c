// SPDX-License-Identifier: GPL-2.0-or-later
/* Every command: its name, arguments and help, and what can be completed behind it. */
#include "app/shell/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/shell/output.h"
#include "report/format.h"

static const struct shell_command commands[] = {
	{"top", "[SORT|growth] [PID]", "the worst sites, refreshed until a key",
	 "Any key ends it. \"change\" is since it began. Sort keys are those of --sort; growth is "
	 "that change.",
	 SHELL_TAKES_PID | SHELL_TAKES_SORT, "growth", true, shell_do_top},
	{"site", "[PID:]ID", "one site: its stack, its source line",
	 "Lists show the ids of sites. Where several processes are traced, they are PID:ID.",
	 SHELL_TAKES_SITE, NULL, false, shell_do_site},
	{"suspects", "[PID]", "what grows, how fast, and why to look at it",
	 "Sites that have grown for ten seconds at least, the worst first. A scan says more of "
	 "them.",
	 SHELL_TAKES_PID, NULL, false, shell_do_suspects},
	{"dump", "[SORT] [-l] [PID]", "the whole report, as at the end",
	 "-l shows the module of each frame.",
	 SHELL_TAKES_PID | SHELL_TAKES_SORT | SHELL_TAKES_LONG, NULL, false, shell_do_dump},
	{"grep", "PATTERN [PID]", "sites whose stacks match",
	 "PATTERN is an extended regular expression, searched for in functions, source files and "
	 "modules; without capitals, their case does not matter.",
	 SHELL_TAKES_PID, NULL, false, shell_do_grep},
	{"scan", "[all|new|leak] [PID]", "search for leaks now",
	 "all shows every site that lost blocks, new those that lost more than at the last scan, "
	 "leak what became of those that had lost some then. set scan says how.",
	 SHELL_TAKES_PID, "all|new|leak", false, shell_do_scan},
	{"mark", "[NAME]", "remember this moment, for diff",
	 "A mark costs the memory of a report. A second one of the same name replaces the first.",
	 SHELL_TAKES_MARK, NULL, false, shell_do_mark},
	{"diff", "[NAME] [PID]", "what grew, came and went since then",
	 "Without NAME, since the last mark.", SHELL_TAKES_PID | SHELL_TAKES_MARK, NULL, false,
	 shell_do_diff},
	{"watch", "[EVERY] SITE|COMMAND", "show it again whenever it changes",
	 "Any key ends it. EVERY is a duration like 10s, else set interval.",
	 SHELL_TAKES_COMMAND | SHELL_TAKES_SITE, NULL, true, shell_do_watch},
	{"wait", "[DURATION]", "let the trace go on",
	 "Without DURATION until all traced processes have ended. For scripts; any key ends it.", 0,
	 NULL, true, shell_do_wait},
	{"status", "[PID]", "live memory, calls, leaks, losses", "", SHELL_TAKES_PID, NULL, false,
	 shell_do_status},
	{"proclist", "", "who is and was traced", "", 0, NULL, false, shell_do_proclist},
	{"stop", "[PID]", "book no new allocations",
	 "Frees are booked as ever, so what is booked as live does live. Blocks that are allocated "
	 "meanwhile are known, so that their frees are, but in no total. Probes stay where they "
	 "are: the program is no faster for it.",
	 SHELL_TAKES_PID, NULL, false, shell_do_stop},
	{"start", "[PID]", "book them again", "", SHELL_TAKES_PID, NULL, false, shell_do_start},
	{"reset", "[PID]", "begin the books anew",
	 "Blocks that live now are in no total any more. Losses stay, and so does what is known of "
	 "the processes. Marks are forgotten.",
	 SHELL_TAKES_PID, NULL, false, shell_do_reset},
	{"save", "FILE", "the report to a file (FILE.json: JSON)",
	 "All of it, whatever the filters.", SHELL_TAKES_FILE, NULL, false, shell_do_save},
	{"export", "FORMAT FILE", "the same in any format", "All of it, whatever the filters.",
	 SHELL_TAKES_FORMAT | SHELL_TAKES_FILE, NULL, false, shell_do_export},
	{"set", "NAME VALUE", "order, filters, intervals …", "show lists all settings.",
	 SHELL_TAKES_SETTING | SHELL_TAKES_SORT, NULL, false, shell_do_set},
	{"show", "[NAME|info]", "settings; what this trace is", "", SHELL_TAKES_SETTING, "info",
	 false, shell_do_show},
	{"help", "[COMMAND]", "more on a command", "", SHELL_TAKES_COMMAND, NULL, false,
	 shell_do_help},
	{"quit", "", "end the trace, not the programs",
	 "A launched program that still runs goes on, too, untraced. There is no report unless "
	 "--output or --format=FILE asked for one.",
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
