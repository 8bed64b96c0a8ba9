/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments of commands, and their completion. */
#ifndef MTRACE_APP_SHELL_ARGUMENTS_H
#define MTRACE_APP_SHELL_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "app/shell/state.h"
#include "base/error.h"

struct shell_choice {
	pid_t pid;
	enum sort_key sort;
	bool sort_given;
	bool long_frames;
};

/*
 * Reads words in any order: a pid or "all", a sort key, and -l, as far as `takes` (enum
 * shell_takes) allows them. Returns 0 or -errno with a message in err.
 */
int shell_choose(const struct shell *shell, char *const *words, unsigned int takes,
		 struct shell_choice *ret_choice, struct error *err);
/* The only word, or NULL if there is none. Returns -EINVAL if there are more. */
int shell_one_word(char *const *words, const char *what, const char **ret_word, struct error *err);
/* Returns -EINVAL if there is a word. */
int shell_no_words(char *const *words, struct error *err);
/* Each returns 0, or -EINVAL with a message in err. */
int shell_pid_parse(const char *word, pid_t *ret_pid, struct error *err);
int shell_sort_parse(const char *word, enum sort_key *ret_sort, struct error *err);

/*
 * The index-th word that can follow `line` and begins with `word`, or NULL after the last. The
 * caller frees it. See the complete function of struct shell_input_config.
 */
char *shell_complete(struct shell *shell, const char *line, const char *word, size_t index,
		     bool *ret_files);
void shell_candidates_free(struct shell_candidates *candidates);

#endif
