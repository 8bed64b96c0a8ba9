/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "Did you mean …?": offer all valid words, then ask for the closest one.
 *
 *      struct suggestion s = {.word = "dept"};
 *      suggestion_offer(&s, "depth"); …
 *      suggestion_best(&s) → "depth", or NULL if nothing is close
 */
#ifndef MTRACE_APP_CLI_SUGGEST_H
#define MTRACE_APP_CLI_SUGGEST_H

#include <stddef.h>

struct suggestion {
	const char *word;
	const char *best; /* must outlive the suggestion */
	size_t distance;
};

void suggestion_offer(struct suggestion *suggestion, const char *candidate);
const char *suggestion_best(const struct suggestion *suggestion);

/* " (did you mean --depth?)" with `prefix` "--", or "" if nothing is close. Returns `text`. */
#define SUGGESTION_TEXT_SIZE 64
const char *suggestion_text(const struct suggestion *suggestion, const char *prefix,
			    char text[SUGGESTION_TEXT_SIZE]);

/* The number of insertions, deletions, replacements and swaps of neighbours between two words. */
size_t edit_distance(const char *a, const char *b);

#endif
