/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A line of the shell, taken apart: words between blanks, 'quoted', "quoted" or with \ before a
 * character that shall stand for itself; > FILE and >> FILE; | COMMAND, which goes to the user's
 * own shell as it is; # begins a comment, at the beginning of a word.
 */
#ifndef MTRACE_APP_SHELL_WORDS_H
#define MTRACE_APP_SHELL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define SHELL_WORDS_MAX 32

enum redirect { REDIRECT_NONE, REDIRECT_FILE, REDIRECT_APPEND, REDIRECT_PIPE };

struct shell_words {
	char *words[SHELL_WORDS_MAX + 1]; /* NULL-terminated */
	size_t count;
	enum redirect redirect;
	const char *target; /* the file, or the command */
	char *text;         /* what all of them point into */
};

/* 0, -EINVAL with words, or -ENOMEM. Free it in any case. */
int shell_words_parse(struct shell_words *ret_words, const char *line, struct error *err);
void shell_words_free(struct shell_words *words);

/*
 * Which of the names is meant: the one that `word` is, or else the only one that begins with it.
 * Its index, or -EINVAL with words ("unknown WHAT …", "… is ambiguous: start, status"). Names are
 * given by index, NULL behind the last; those that begin with a blank are aliases, without it, and
 * are found only as a whole.
 */
int shell_name_find(const char *what, const char *word, const char *(*name)(size_t index),
		    struct error *err);

#endif
