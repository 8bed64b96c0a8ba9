/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses suppressions; model/suppress/suppress.h describes the format. */
#include "model/suppress/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "model/suppress/rule.h"

#define BLANKS " \t\r\v\f"

#define REGEX_BASE_SIZE 8
#define REGEX_SIZES_MAX 100000 /* of all regular expressions: they take less than 1 GiB */

/* A part of the text; not NUL-terminated. */
struct words {
	const char *start;
	size_t length;
};

/* The state of the parser. */
struct suppression_reader {
	struct suppressions *suppressions;
	const struct suppression_text *file; /* NULL for the command line */
	struct words rest;
	unsigned int line; /* number of the last line that was read */
	struct error *err;
};

#define WORDS(text)                  \
	(struct words)               \
	{                            \
		(text), strlen(text) \
	}

static int fail(const struct suppression_reader *reader, const char *what, struct words words)
{
	return error_set(reader->err, -EINVAL, "%s:%u: %s: \"%.*s\"", reader->file->name,
			 reader->line, what, words.length > 80 ? 80 : (int)words.length,
			 words.start);
}

static bool words_are(struct words words, const char *text)
{
	return words.length == strlen(text) && !memcmp(words.start, text, words.length);
}

/* Removes a prefix. Returns false if it is not there. */
static bool words_skip(struct words *words, const char *prefix)
{
	size_t length = strlen(prefix);

	if (words->length < length || memcmp(words->start, prefix, length))
		return false;
	words->start += length;
	words->length -= length;
	return true;
}

static struct words words_trim(struct words words)
{
	while (words.length && strchr(BLANKS, words.start[0])) {
		words.start++;
		words.length--;
	}
	while (words.length && strchr(BLANKS, words.start[words.length - 1]))
		words.length--;
	return words;
}

/* Cuts off the text before the first separator; *rest becomes the text after it. */
static struct words words_cut(struct words *rest, char separator)
{
	const char *at = memchr(rest->start, separator, rest->length);
	struct words words = {rest->start, at ? (size_t)(at - rest->start) : rest->length};
	size_t taken = words.length + (at != NULL);

	rest->start += taken;
	rest->length -= taken;
	return words;
}

/* Reads the next line that is neither empty nor a comment. Returns false at the end. */
static bool next_line(struct suppression_reader *reader, struct words *ret_line)
{
	while (reader->rest.length) {
		struct words line = words_trim(words_cut(&reader->rest, '\n'));

		reader->line++;
		if (!line.length || line.start[0] == '#')
			continue;
		*ret_line = line;
		return true;
	}
	return false;
}

/* ---- patterns ---- */

/* Converts stars (and question marks, if they are special) to the characters of wild_match. */
static char *wild_of(struct words pattern, bool questions)
{
	char *wild = strndup(pattern.start, pattern.length);

	for (char *at = wild; at && *at; at++) {
		if (*at == '*')
			*at = WILD_RUN;
		else if (*at == '?' && questions)
			*at = WILD_ONE;
	}
	return wild;
}

/* A pattern of LeakSanitizer matches a part of the name, unless ^ and $ anchor it. Everything after
 * $ is ignored. */
static char *wild_of_part(struct words pattern)
{
	bool at_start = words_skip(&pattern, "^");
	const char *end = memchr(pattern.start, '$', pattern.length);
	char *inner, *wild;

	if (end)
		pattern.length = (size_t)(end - pattern.start);
	inner = wild_of(pattern, false);
	wild = inner ? malloc(strlen(inner) + 3) : NULL;
	if (wild) {
		char *at = wild;

		if (!at_start)
			*at++ = WILD_RUN;
		at = stpcpy(at, inner);
		if (!end)
			*at++ = WILD_RUN;
		*at = '\0';
	}
	free(inner);
	return wild;
}

static bool is_mangled_name(struct words pattern)
{
	return words_skip(&pattern, "_Z");
}

static bool has_wildcards(struct words pattern)
{
	return memchr(pattern.start, '*', pattern.length) ||
	       memchr(pattern.start, '?', pattern.length);
}

/* For fun: lines of memcheck. The names of allocators need no demangling, so patterns for them are
 * not counted. */
static int rule_demangle(const struct suppression_reader *reader, struct frame_rule *rule,
			 struct words pattern)
{
	if (rule->kind != FRAME_FUNCTION || !is_mangled_name(pattern))
		return 0;
	if (has_wildcards(pattern)) {
		reader->suppressions->mangled += !words_skip(&pattern, "_Zn");
		return 0;
	}
	if (!reader->file->demangle)
		return 0;
	rule->demangled = reader->file->demangle(rule->wild);
	return rule->demangled ? 0 : -ENOMEM;
}

static int suppression_add_rule(struct suppression *suppression, struct frame_rule rule)
{
	int code = vec_push(&suppression->frames, rule);

	if (!code)
		return 0;
	if (rule.kind == FRAME_REGEX)
		regfree(&rule.regex);
	free(rule.wild);
	free(rule.demangled);
	return code;
}

/* ---- one line: ignore and leak ---- */

/* Each expression also has a fixed cost. */
static int regex_charge(struct suppressions *suppressions, size_t size,
			char reason[PATTERN_REASON_SIZE])
{
	suppressions->regex_size += size + REGEX_BASE_SIZE;
	if (suppressions->regex_size <= REGEX_SIZES_MAX)
		return 0;
	snprintf(reason, PATTERN_REASON_SIZE, "too many regular expressions (use * and ?)");
	return -EINVAL;
}

static int regex_of(struct suppressions *suppressions, struct words pattern, regex_t *ret_regex,
		    char reason[PATTERN_REASON_SIZE])
{
	char *text = strndup(pattern.start, pattern.length);
	size_t size;
	int code = text ? pattern_compile(text, 0, ret_regex, &size, reason) : -ENOMEM;

	free(text);
	if (code)
		return code;
	code = regex_charge(suppressions, size, reason);
	if (code)
		regfree(ret_regex);
	return code;
}

static bool is_regex(struct words pattern)
{
	return pattern.length > 2 && pattern.start[0] == '/' &&
	       pattern.start[pattern.length - 1] == '/';
}

/* Creates the rule for --ignore and ignore:. */
static int rule_ignore(struct suppressions *suppressions, struct words pattern,
		       struct frame_rule *ret_rule, char reason[PATTERN_REASON_SIZE])
{
	struct frame_rule rule = {.kind = FRAME_FUNCTION};
	int code;

	if (!is_regex(pattern)) {
		rule.wild = wild_of(pattern, true);
		*ret_rule = rule;
		return rule.wild ? 0 : -ENOMEM;
	}
	pattern.start++;
	pattern.length -= 2;
	rule.kind = FRAME_REGEX;
	code = regex_of(suppressions, pattern, &rule.regex, reason);
	if (!code)
		*ret_rule = rule;
	return code;
}

/* Adds a suppression with one rule for any frame. Takes ownership of the rule. */
static int add_simple(struct suppressions *suppressions, struct words name, struct frame_rule rule)
{
	struct suppression suppression = {.name = strndup(name.start, name.length),
					  .classes = LEAK_SET_ALL,
					  .anywhere = true};
	int code = suppression_add_rule(&suppression, rule);

	if (!code && !suppression.name)
		code = -ENOMEM;
	if (!code)
		code = vec_push(&suppressions->items, suppression);
	if (code)
		suppression_free(&suppression);
	return code;
}

int suppressions_ignore(struct suppressions *suppressions, const char *pattern, struct error *err)
{
	struct frame_rule rule;
	char reason[PATTERN_REASON_SIZE];
	int code;

	if (!*pattern)
		return error_set(err, -EINVAL, "is empty");
	code = rule_ignore(suppressions, WORDS(pattern), &rule, reason);
	if (code == -EINVAL)
		return error_set(err, code, "cannot use \"%.80s\" as a regular expression: %s",
				 pattern, reason);
	return code ? code : add_simple(suppressions, WORDS(pattern), rule);
}

static int read_ignore(struct suppression_reader *reader, struct words line, struct words pattern)
{
	struct frame_rule rule;
	char reason[PATTERN_REASON_SIZE];
	int code = rule_ignore(reader->suppressions, pattern, &rule, reason);

	if (code == -EINVAL)
		return fail(reader, reason, pattern);
	return code ? code : add_simple(reader->suppressions, line, rule);
}

static int read_leak(struct suppression_reader *reader, struct words line, struct words pattern)
{
	struct frame_rule rule = {.kind = FRAME_ANY_NAME, .wild = wild_of_part(pattern)};

	return rule.wild ? add_simple(reader->suppressions, line, rule) : -ENOMEM;
}

/* ---- memcheck's blocks ---- */

struct frame_word {
	const char *prefix;
	enum frame_kind kind;
};

static const struct frame_word frame_words[] = {
	{"fun:", FRAME_FUNCTION},
	{"obj:", FRAME_MODULE},
	{"src:", FRAME_SOURCE},
};

static int read_kinds(const struct suppression_reader *reader, struct words line,
		      struct suppression *ret)
{
	struct words rest = line;

	ret->classes = 0;
	while (rest.length) {
		struct words word = words_trim(words_cut(&rest, ','));
		uint32_t classes;

		if (leak_kind_parse(word.start, word.length, &classes))
			return fail(reader, "unknown kind of leak", word);
		ret->classes |= classes;
	}
	/* memcheck knows no such class: to it, these blocks are reachable. */
	if (ret->classes & LEAK_BIT(LEAK_REACHABLE))
		ret->classes |= LEAK_BIT(LEAK_STACK);
	return 0;
}

static int read_frame(struct suppression_reader *reader, struct words line,
		      struct suppression *suppression)
{
	struct words pattern = line;
	struct frame_rule rule = {.kind = FRAME_SKIP};
	int code;

	if (words_are(line, "..."))
		return suppression_add_rule(suppression, rule);
	for (size_t i = 0; i < sizeof(frame_words) / sizeof(frame_words[0]); i++) {
		if (!words_skip(&pattern, frame_words[i].prefix))
			continue;
		rule.kind = frame_words[i].kind;
		rule.wild = wild_of(words_trim(pattern), true);
		code = rule.wild ? rule_demangle(reader, &rule, pattern) : -ENOMEM;
		if (!code)
			return suppression_add_rule(suppression, rule);
		free(rule.wild);
		return code;
	}
	return fail(reader, "not a frame (fun:, obj:, src: or ...)", line);
}

/* The format is "Memcheck,Addrcheck:Leak". */
static bool is_for_leaks(struct words line)
{
	struct words tools = words_cut(&line, ':');

	if (!words_are(words_trim(line), "Leak"))
		return false;
	while (tools.length) {
		struct words tool = words_trim(words_cut(&tools, ','));

		if (words_are(tool, "Memcheck") || words_are(tool, "memcheck"))
			return true;
	}
	return false;
}

/* Reads up to "}". Unless `wanted`, the lines are not checked. */
static int read_frames(struct suppression_reader *reader, bool wanted,
		       struct suppression *suppression)
{
	unsigned int line_number = reader->line;
	struct words line;

	while (next_line(reader, &line)) {
		struct words kinds = line;
		int code = 0;

		if (words_are(line, "}"))
			return wanted && !suppression->frames.count
				       ? fail(reader, "block without frames",
					      WORDS(suppression->name))
				       : 0;
		if (wanted && words_skip(&kinds, "match-leak-kinds:"))
			code = read_kinds(reader, kinds, suppression);
		else if (wanted)
			code = read_frame(reader, line, suppression);
		if (code)
			return code;
	}
	reader->line = line_number;
	return fail(reader, "block without a closing }", WORDS(suppression->name));
}

static int read_block(struct suppression_reader *reader, struct words line, struct words after)
{
	struct suppression suppression = {.classes = LEAK_SET_ALL};
	bool wanted;
	int code;

	if (after.length)
		return fail(reader, "unexpected text after {", after);
	if (!next_line(reader, &line) || words_are(line, "}"))
		return fail(reader, "block without a name", WORDS("{"));
	suppression.name = strndup(line.start, line.length);
	if (!suppression.name)
		return -ENOMEM;
	wanted = next_line(reader, &line) && is_for_leaks(line);
	code = words_are(line, "}") ? fail(reader, "block without a kind", line)
				    : read_frames(reader, wanted, &suppression);
	if (!code && wanted)
		code = vec_push(&reader->suppressions->items, suppression);
	if (code || !wanted)
		suppression_free(&suppression);
	return code;
}

/* ---- all lines ---- */

struct line_form {
	const char *prefix;
	bool needs_pattern;
	int (*read)(struct suppression_reader *reader, struct words line, struct words after);
};

static const struct line_form line_forms[] = {
	{"ignore:", true, read_ignore},
	{"leak:", true, read_leak},
	{"{", false, read_block},
};

static int read_line(struct suppression_reader *reader, struct words line)
{
	for (size_t i = 0; i < sizeof(line_forms) / sizeof(line_forms[0]); i++) {
		const struct line_form *form = &line_forms[i];
		struct words after = line;

		if (!words_skip(&after, form->prefix))
			continue;
		after = words_trim(after);
		if (form->needs_pattern && !after.length)
			return fail(reader, "no pattern", line);
		return form->read(reader, line, after);
	}
	return fail(reader, "expected leak:PATTERN, ignore:PATTERN or {", line);
}

int suppressions_parse(struct suppressions *suppressions, const struct suppression_text *text,
		       struct error *err)
{
	struct suppression_reader reader = {
		.suppressions = suppressions,
		.file = text,
		.rest = {text->text, text->size},
		.err = err,
	};
	struct words line;
	int code = 0;

	if (memchr(text->text, '\0', text->size))
		return error_set(err, -EINVAL, "%s: not a text file", text->name);
	while (!code && next_line(&reader, &line))
		code = read_line(&reader, line);
	return code;
}
