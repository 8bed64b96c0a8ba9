/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Splits a line of the shell: words separated by blanks, 'quoted', "quoted" or with \ before a
 * literal character; > FILE and >> FILE; | COMMAND, which is passed unchanged to the user's own
 * shell. # at the start of a word begins a comment.
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
	char *text;         /* storage for all of them */
};

/* Returns 0, -ENOMEM, or -EINVAL with a message. Free it in any case. */
int shell_words_parse(struct shell_words *ret_words, const char *line, struct error *err);
void shell_words_free(struct shell_words *words);

/*
 * Finds the name that `word` means: an exact match, or else the only name that begins with it.
 * Returns its index, or -EINVAL with a message ("unknown WHAT …", "… is ambiguous: start, status").
 * name() returns the names by index, and NULL after the last. A leading blank marks an alias, which
 * is matched without the blank and only exactly.
 */
int shell_name_find(const char *what, const char *word, const char *(*name)(size_t index),
		    struct error *err);

#endif
