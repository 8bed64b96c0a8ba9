/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "Did you mean …?": offer every word that would have been right, then ask for the nearest.
 *
 *	struct suggestion s = {.word = "dept"};
 *	suggestion_offer(&s, "depth"); …
 *	suggestion_best(&s)	→ "depth", or NULL if nothing comes close
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

/* " (did you mean --depth?)" with `prefix` "--", or "" if nothing comes close. Returns text. */
#define SUGGESTION_TEXT_SIZE 64
const char *suggestion_text(const struct suggestion *suggestion, const char *prefix,
			    char text[SUGGESTION_TEXT_SIZE]);

/* Insertions, deletions, replacements and swaps of neighbours that make one word of the other. */
size_t edit_distance(const char *a, const char *b);

#endif
