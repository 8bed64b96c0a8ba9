/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/cli/suggest.h"

#include <stdio.h>
#include <string.h>

/* No valid word is longer, and a longer word cannot be close to one. */
#define WORD_MAX 32

static size_t min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Optimal string alignment distance: the dynamic programming of Wagner and Fischer, with a swap of
 * two neighbours as one edit. distance[i][j] compares the first i letters of a with the first j of
 * b.
 */
size_t edit_distance(const char *a, const char *b)
{
	size_t distance[WORD_MAX + 1][WORD_MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > WORD_MAX || lb > WORD_MAX)
		return la > lb ? la : lb;
	for (size_t i = 0; i <= la; i++)
		distance[i][0] = i;
	for (size_t j = 0; j <= lb; j++)
		distance[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			size_t best = distance[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			best = min_of(best, distance[i - 1][j] + 1);
			best = min_of(best, distance[i][j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = min_of(best, distance[i - 2][j - 2] + 1);
			distance[i][j] = best;
		}
	}
	return distance[la][lb];
}

void suggestion_offer(struct suggestion *suggestion, const char *candidate)
{
	size_t distance = edit_distance(suggestion->word, candidate);

	if (suggestion->best && distance >= suggestion->distance)
		return;
	suggestion->best = candidate;
	suggestion->distance = distance;
}

/* Accepts one edit in a short word, and one more for every three letters. */
const char *suggestion_best(const struct suggestion *suggestion)
{
	size_t length = strlen(suggestion->word);

	if (!suggestion->best || length < 2 || suggestion->distance > (length + 2) / 3)
		return NULL;
	return suggestion->best;
}

const char *suggestion_text(const struct suggestion *suggestion, const char *prefix,
			    char text[SUGGESTION_TEXT_SIZE])
{
	const char *best = suggestion_best(suggestion);

	text[0] = '\0';
	if (best)
		snprintf(text, SUGGESTION_TEXT_SIZE, " (did you mean %s%s?)", prefix, best);
	return text;
}
