/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands: a table with the help and the arguments of each, and the function that runs it. */
#ifndef MTRACE_APP_SHELL_COMMANDS_H
#define MTRACE_APP_SHELL_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "app/shell/state.h"
#include "base/error.h"

enum shell_takes {
	SHELL_TAKES_PID = 1 << 0,
	SHELL_TAKES_SORT = 1 << 1,
	SHELL_TAKES_LONG = 1 << 2, /* -l */
	SHELL_TAKES_SITE = 1 << 3,
	SHELL_TAKES_FORMAT = 1 << 4,
	SHELL_TAKES_FILE = 1 << 5,
	SHELL_TAKES_COMMAND = 1 << 6,
	SHELL_TAKES_SETTING = 1 << 7,
	SHELL_TAKES_MARK = 1 << 8,
};

struct shell_command {
	const char *name;
	const char *arguments; /* as in the help; "" if there are none */
	const char *help;      /* one line */
	const char *more;      /* more sentences */
	unsigned int takes;    /* what can be completed */
	const char *words;     /* more words to complete: "all|new|leak"; NULL: none */
	bool streams;          /* its output must be visible while it runs */
	/* Takes the words after the name, NULL-terminated. Returns 0 or -errno with a message. */
	int (*run)(struct shell *shell, char *const *words, struct error *err);
};

/* The i-th command, or NULL after the last. */
const struct shell_command *shell_command_at(size_t i);
/* Finds a command by name, alias or unique prefix; NULL with a message in err. */
const struct shell_command *shell_command_find(const char *word, struct error *err);
/* Runs a line. Returns 0 or -errno with a message in err. */
int shell_run_line(struct shell *shell, const char *line, struct error *err);

/* Implemented in app/shell/command. */

/* Each takes the words after its name, NULL-terminated. Returns 0 or -errno with a message. */

/* report.c */
int shell_do_dump(struct shell *shell, char *const *words, struct error *err);
int shell_do_save(struct shell *shell, char *const *words, struct error *err);
int shell_do_export(struct shell *shell, char *const *words, struct error *err);

/* site.c */
int shell_do_site(struct shell *shell, char *const *words, struct error *err);
int shell_do_grep(struct shell *shell, char *const *words, struct error *err);

/* top.c */
int shell_do_top(struct shell *shell, char *const *words, struct error *err);

/* watch.c */
int shell_do_watch(struct shell *shell, char *const *words, struct error *err);
int shell_do_wait(struct shell *shell, char *const *words, struct error *err);

/* diff.c */
int shell_do_mark(struct shell *shell, char *const *words, struct error *err);
int shell_do_diff(struct shell *shell, char *const *words, struct error *err);

/* control.c */
int shell_do_scan(struct shell *shell, char *const *words, struct error *err);
int shell_do_start(struct shell *shell, char *const *words, struct error *err);
int shell_do_stop(struct shell *shell, char *const *words, struct error *err);
int shell_do_reset(struct shell *shell, char *const *words, struct error *err);
int shell_do_quit(struct shell *shell, char *const *words, struct error *err);

/* suspects.c */
int shell_do_suspects(struct shell *shell, char *const *words, struct error *err);

/* info.c */
int shell_do_status(struct shell *shell, char *const *words, struct error *err);
int shell_do_proclist(struct shell *shell, char *const *words, struct error *err);

/* help.c */
int shell_do_help(struct shell *shell, char *const *words, struct error *err);

/* set.c */
int shell_do_set(struct shell *shell, char *const *words, struct error *err);
int shell_do_show(struct shell *shell, char *const *words, struct error *err);

/* Frees all marks (command/diff.c). */
void shell_marks_forget(struct shell *shell);
/* The name of the index-th setting, or NULL after the last (command/set.c). */
const char *shell_setting_name(size_t index);

#endif
