// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses and completes the arguments of commands. */
#include "app/shell/arguments.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "app/shell/commands.h"
#include "app/shell/view.h"
#include "base/units.h"
#include "report/format.h"

#define WORD_SIZE 64

static const char *sort_name(size_t index)
{
	return index < SORT_COUNT ? sort_key_name((enum sort_key)index) : NULL;
}

int shell_sort_parse(const char *word, enum sort_key *ret_sort, struct error *err)
{
	int index = shell_name_find("sort key", word, sort_name, err);

	if (index < 0)
		return index;
	*ret_sort = (enum sort_key)index;
	return 0;
}

int shell_pid_parse(const char *word, pid_t *ret_pid, struct error *err)
{
	uint64_t pid;

	if (!strcmp(word, "all")) {
		*ret_pid = 0;
		return 0;
	}
	if (number_parse(word, INT_MAX, &pid) || !pid)
		return error_set(err, -EINVAL, "\"%.40s\" is neither a process id nor all", word);
	*ret_pid = (pid_t)pid;
	return 0;
}

static bool is_number(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

static int choose_word(const char *word, unsigned int takes, struct shell_choice *choice,
		       struct error *err)
{
	if (takes & SHELL_TAKES_LONG && !strcmp(word, "-l")) {
		choice->long_frames = true;
		return 0;
	}
	if (takes & SHELL_TAKES_PID && (is_number(word) || !strcmp(word, "all")))
		return shell_pid_parse(word, &choice->pid, err);
	if (takes & SHELL_TAKES_SORT) {
		choice->sort_given = true;
		return shell_sort_parse(word, &choice->sort, err);
	}
	return error_set(err, -EINVAL, "\"%.40s\" is neither a process id nor all", word);
}

int shell_choose(const struct shell *shell, char *const *words, unsigned int takes,
		 struct shell_choice *ret_choice, struct error *err)
{
	int code = 0;

	*ret_choice = (struct shell_choice){.pid = shell->settings.pid,
					    .sort = shell->settings.sort,
					    .long_frames = shell->settings.long_frames};
	for (; !code && *words; words++)
		code = choose_word(*words, takes, ret_choice, err);
	return code;
}

int shell_one_word(char *const *words, const char *what, const char **ret_word, struct error *err)
{
	*ret_word = words[0];
	if (words[0] && words[1])
		return error_set(err, -EINVAL, "expected one %s", what);
	return 0;
}

int shell_no_words(char *const *words, struct error *err)
{
	return words[0] ? error_set(err, -EINVAL, "usage") : 0;
}

/* Completion: collects all words that are possible here, from several lists. */

static void offer(struct shell_candidates *candidates, const char *name)
{
	char *copy;

	if (name[0] == ' ' || strncmp(name, candidates->word, strlen(candidates->word)))
		return;
	copy = strdup(name);
	if (copy && vec_push(&candidates->list, copy))
		free(copy);
}

static void offer_commands(struct shell_candidates *candidates)
{
	const struct shell_command *command;

	for (size_t i = 0; (command = shell_command_at(i)); i++)
		offer(candidates, command->name);
}

static void offer_sorts(struct shell_candidates *candidates)
{
	for (size_t i = 0; i < SORT_COUNT; i++)
		offer(candidates, sort_name(i));
}

static void offer_formats(struct shell_candidates *candidates)
{
	const struct report_format *format;

	for (size_t i = 0; (format = format_at(i)); i++)
		offer(candidates, format->name);
}

static void offer_settings(struct shell_candidates *candidates)
{
	const char *name;

	for (size_t i = 0; (name = shell_setting_name(i)); i++)
		offer(candidates, name);
}

static void offer_list(struct shell_candidates *candidates, const char *list)
{
	char words[WORD_SIZE], *rest = words, *word;

	snprintf(words, sizeof(words), "%s", list);
	while ((word = strsep(&rest, "|")))
		offer(candidates, word);
}

static void offer_pids(struct shell *shell, struct shell_candidates *candidates)
{
	char text[WORD_SIZE];
	uint32_t *pids;
	size_t count;

	offer(candidates, "all");
	if (model_pids(shell->config.session->model, &pids, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%u", pids[i]);
		offer(candidates, text);
	}
	free(pids);
}

/* Only sites with live blocks; others are rarely needed. */
static void offer_sites(struct shell *shell, struct shell_candidates *candidates)
{
	char text[SITE_NAME_SIZE];
	struct shell_view view;
	struct error err;

	if (shell_view_open(shell, shell->settings.pid, &view, &err))
		return;
	for (size_t i = 0; i < view.snapshot->process_count; i++) {
		const struct snapshot_process *process = &view.snapshot->processes[i];

		for (size_t j = 0; j < process->site_count; j++)
			if (process->sites[j].live_blocks)
				offer(candidates,
				      site_name(process, &process->sites[j], view.several, text));
	}
	shell_view_close(&view);
}

static void offer_marks(const struct shell *shell, struct shell_candidates *candidates)
{
	const struct shell_mark *mark;

	vec_each (mark, &shell->marks)
		offer(candidates, mark->name);
}

static void offer_arguments(struct shell *shell, const struct shell_command *command,
			    struct shell_candidates *candidates)
{
	if (command->words)
		offer_list(candidates, command->words);
	if (command->takes & SHELL_TAKES_COMMAND)
		offer_commands(candidates);
	if (command->takes & SHELL_TAKES_SETTING)
		offer_settings(candidates);
	if (command->takes & SHELL_TAKES_SORT)
		offer_sorts(candidates);
	if (command->takes & SHELL_TAKES_FORMAT)
		offer_formats(candidates);
	if (command->takes & SHELL_TAKES_MARK)
		offer_marks(shell, candidates);
	if (command->takes & SHELL_TAKES_SITE)
		offer_sites(shell, candidates);
	if (command->takes & SHELL_TAKES_PID)
		offer_pids(shell, candidates);
}

void shell_candidates_free(struct shell_candidates *candidates)
{
	char **name;

	vec_each (name, &candidates->list)
		free(*name);
	vec_free(&candidates->list);
	*candidates = (struct shell_candidates){0};
}

static void find_candidates(struct shell *shell, const char *line,
			    struct shell_candidates *candidates)
{
	const struct shell_command *command;
	char name[WORD_SIZE];
	struct error err;

	candidates->files = strchr(line, '>') != NULL;
	if (candidates->files)
		return;
	if (sscanf(line, " %63s", name) != 1) {
		offer_commands(candidates);
		return;
	}
	command = shell_command_find(name, &err);
	if (!command)
		return;
	offer_arguments(shell, command, candidates);
	candidates->files = command->takes & SHELL_TAKES_FILE;
}

/* Collects all candidates on the first call, which takes a snapshot of the model. */
char *shell_complete(struct shell *shell, const char *line, const char *word, size_t index,
		     bool *ret_files)
{
	struct shell_candidates *candidates = &shell->candidates;

	if (!index) {
		shell_candidates_free(candidates);
		candidates->word = word;
		find_candidates(shell, line, candidates);
		candidates->word = NULL;
	}
	*ret_files = candidates->files;
	return index < candidates->list.count ? strdup(candidates->list.items[index]) : NULL;
}
