// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/stream/malloc_log.h"

#include <errno.h>
#include <string.h>

/* The unread rest of a line. */
struct log_text {
	const char *at;
	const char *end;
};

static bool take_word(struct log_text *text, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length))
		return false;
	text->at += length;
	return true;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* 0x1f, (nil), or a plain 0, which is how printf formats 0 with "%#lx". */
static bool take_number(struct log_text *text, uint64_t *ret_number)
{
	uint64_t number = 0;
	int digits = 0;

	*ret_number = 0;
	if (take_word(text, "(nil)"))
		return true;
	if (!take_word(text, "0x"))
		return take_word(text, "0");
	for (; text->at < text->end && digit_of(*text->at) >= 0; text->at++, digits++)
		number = number << 4 | (uint64_t)digit_of(*text->at);
	*ret_number = number;
	return digits > 0 && digits <= 16;
}

static const char *last_of(const char *from, const char *end, char wanted)
{
	return from < end ? memrchr(from, wanted, (size_t)(end - from)) : NULL;
}

/* ./prog:(main+1c) → ./prog. Starts at the end: a path may contain all of these characters. */
static void strip_symbol(const char *from, const char **end)
{
	const char *open;

	if (from < *end && (*end)[-1] == ')') {
		open = last_of(from, *end, '(');
		if (open)
			*end = open;
	}
	if (from < *end && (*end)[-1] == ':')
		--*end;
}

/* "OBJECT:(SYMBOL+OFFSET)[0xADDRESS] " */
static bool take_caller(struct log_text *text, struct malloc_log_line *line)
{
	const char *from = text->at, *close = last_of(from, text->end, ']');
	const char *open = close ? last_of(from, close, '[') : NULL;
	struct log_text address = {.at = open ? open + 1 : NULL, .end = close};

	if (!open || !take_number(&address, &line->caller) || address.at != close)
		return false;
	text->at = close + 1;
	if (!take_word(text, " "))
		return false;
	strip_symbol(from, &open);
	if (open > from) {
		line->object = from;
		line->object_length = (size_t)(open - from);
	}
	return true;
}

static const struct {
	const char *word;
	enum malloc_log_kind kind;
	bool sized;
} kinds[] = {
	{"+ ", MALLOC_LOG_ALLOC, true},  {"- ", MALLOC_LOG_FREE, false},
	{"< ", MALLOC_LOG_OLD, false},   {"> ", MALLOC_LOG_NEW, true},
	{"! ", MALLOC_LOG_FAILED, true},
};

static bool take_call(struct log_text *text, struct malloc_log_line *line)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!take_word(text, kinds[i].word))
			continue;
		line->kind = kinds[i].kind;
		if (!take_number(text, &line->address))
			return false;
		return !kinds[i].sized || (take_word(text, " ") && take_number(text, &line->size));
	}
	return false;
}

static bool is_mark(const struct log_text *text, const char *word)
{
	struct log_text copy = *text;

	return take_word(&copy, word) && copy.at == copy.end;
}

int malloc_log_parse(const char *bytes, size_t length, struct malloc_log_line *ret_line)
{
	struct log_text text = {.at = bytes, .end = bytes + length};
	struct malloc_log_line line = {0};

	if (is_mark(&text, "= Start") || is_mark(&text, "= End")) {
		line.kind = length == strlen("= Start") ? MALLOC_LOG_START : MALLOC_LOG_END;
		*ret_line = line;
		return 0;
	}
	if (take_word(&text, "@ ") && !take_caller(&text, &line))
		return -EBADMSG;
	if (!take_call(&text, &line) || text.at != text.end)
		return -EBADMSG;
	*ret_line = line;
	return 0;
}
