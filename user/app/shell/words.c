// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/shell/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/cli/suggest.h"
#include "report/common/glyph.h"

#define NAMES_SIZE 256
#define SHOWN_SIZE 48 /* bytes of a word shown in messages */

/* The position of the parser in the input and in the output. */
struct word_cursor {
	const char *in;
	char *out;
	struct error *err;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct word_cursor *cursor)
{
	while (is_blank(*cursor->in))
		cursor->in++;
}

/* Parses up to the closing quote. A backslash escapes in double quotes, but not in single ones. */
static int take_quoted(struct word_cursor *cursor)
{
	char quote = *cursor->in++;

	for (; *cursor->in && *cursor->in != quote; cursor->in++) {
		if (quote == '"' && *cursor->in == '\\' && cursor->in[1])
			cursor->in++;
		*cursor->out++ = *cursor->in;
	}
	if (!*cursor->in)
		return error_set(cursor->err, -EINVAL, "missing closing %c", quote);
	cursor->in++;
	return 0;
}

/* Parses the word that starts here. */
static int take_word(struct word_cursor *cursor, char **ret_word)
{
	int code = 0;

	*ret_word = cursor->out;
	while (!code && *cursor->in && !is_blank(*cursor->in) && !strchr("|>", *cursor->in)) {
		if (*cursor->in == '"' || *cursor->in == '\'') {
			code = take_quoted(cursor);
			continue;
		}
		if (*cursor->in == '\\' && cursor->in[1])
			cursor->in++;
		*cursor->out++ = *cursor->in++;
	}
	return code;
}

static int take_pipe(struct shell_words *words, struct word_cursor *cursor)
{
	cursor->in++;
	skip_blanks(cursor);
	if (!*cursor->in)
		return error_set(cursor->err, -EINVAL, "no command after |");
	words->redirect = REDIRECT_PIPE;
	words->target = cursor->out;
	cursor->out = stpcpy(cursor->out, cursor->in);
	cursor->in += strlen(cursor->in);
	return 0;
}

static int take_file(struct shell_words *words, struct word_cursor *cursor)
{
	char *file;
	int code;

	words->redirect = REDIRECT_FILE;
	if (*++cursor->in == '>') {
		words->redirect = REDIRECT_APPEND;
		cursor->in++;
	}
	skip_blanks(cursor);
	code = take_word(cursor, &file);
	if (code)
		return code;
	if (file == cursor->out)
		return error_set(cursor->err, -EINVAL, "no file after >");
	words->target = file;
	skip_blanks(cursor);
	if (*cursor->in && *cursor->in != '#')
		return error_set(cursor->err, -EINVAL, "unexpected text after > FILE");
	*cursor->out = '\0';
	cursor->in += strlen(cursor->in);
	return 0;
}

static int take_next(struct shell_words *words, struct word_cursor *cursor)
{
	char *word;
	int code;

	if (*cursor->in == '|')
		return take_pipe(words, cursor);
	if (*cursor->in == '>')
		return take_file(words, cursor);
	if (words->count == SHELL_WORDS_MAX)
		return error_set(cursor->err, -EINVAL, "more than %d words", SHELL_WORDS_MAX);
	code = take_word(cursor, &word);
	words->words[words->count++] = word;
	return code;
}

int shell_words_parse(struct shell_words *ret_words, const char *line, struct error *err)
{
	struct word_cursor cursor = {.in = line, .err = err};
	int code = 0;

	*ret_words = (struct shell_words){0};
	/* twice the length: a word that ends at > or | needs a terminator that has no input byte */
	ret_words->text = malloc(2 * strlen(line) + 2);
	if (!ret_words->text)
		return error_set(err, -ENOMEM, "out of memory");
	cursor.out = ret_words->text;
	for (skip_blanks(&cursor); !code && *cursor.in && *cursor.in != '#'; skip_blanks(&cursor)) {
		code = take_next(ret_words, &cursor);
		*cursor.out++ = '\0';
	}
	if (!code && ret_words->redirect && !ret_words->count)
		code = error_set(err, -EINVAL, "no command before %c",
				 ret_words->redirect == REDIRECT_PIPE ? '|' : '>');
	return code;
}

void shell_words_free(struct shell_words *words)
{
	free(words->text);
	*words = (struct shell_words){0};
}

/* A typed word, shortened and made safe to print. */
static void show_word(const char *word, char shown[SHOWN_SIZE])
{
	struct glyph glyph;
	size_t taken, used = 0;

	shown[0] = '\0';
	for (; (taken = glyph_next(word, true, &glyph)); word += taken) {
		size_t length = strlen(glyph.text);

		if (used + length + sizeof("...") > SHOWN_SIZE) {
			strcpy(shown + used, "...");
			return;
		}
		strcpy(shown + used, glyph.text);
		used += length;
	}
}

static int name_ambiguous(const char *word, const char *(*name)(size_t index), struct error *err)
{
	char names[NAMES_SIZE] = "";
	const char *candidate;

	for (size_t i = 0; (candidate = name(i)); i++) {
		size_t used = strlen(names);

		if (!strncmp(candidate, word, strlen(word)))
			snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
				 candidate);
	}
	return error_set(err, -EINVAL, "\"%s\" is ambiguous: %s", word, names);
}

static int name_unknown(const char *what, const char *word, const char *(*name)(size_t index),
			struct error *err)
{
	char shown[SHOWN_SIZE], suggested[SUGGESTION_TEXT_SIZE];
	struct suggestion suggestion = {.word = shown};
	const char *candidate;

	show_word(word, shown);
	for (size_t i = 0; (candidate = name(i)); i++)
		if (candidate[0] != ' ')
			suggestion_offer(&suggestion, candidate);
	return error_set(err, -EINVAL, "unknown %s \"%s\"%s", what, shown,
			 suggestion_text(&suggestion, "", suggested));
}

int shell_name_find(const char *what, const char *word, const char *(*name)(size_t index),
		    struct error *err)
{
	size_t length = strlen(word), matches = 0;
	const char *candidate;
	int found = -1;

	for (size_t i = 0; (candidate = name(i)); i++) {
		bool alias = candidate[0] == ' ';

		if (!strcmp(candidate + alias, word))
			return (int)i;
		if (alias || !length || strncmp(candidate, word, length))
			continue;
		found = (int)i;
		matches++;
	}
	if (matches == 1)
		return found;
	return matches ? name_ambiguous(word, name, err) : name_unknown(what, word, name, err);
}
