/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Computes the size of an expression before it is compiled. The size of an atom is that of its
 * characters; a repetition multiplies it. What is not a valid expression may get any size, because
 * regcomp() refuses it.
 */
#include "base/pattern.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NESTING_MAX 50
#define TIMES_MAX   100000

struct measure {
	const char *at;             /* the rest of the expression */
	size_t groups[NESTING_MAX]; /* sizes of the open groups, without the last atom */
	size_t depth;               /* the innermost open group; 0 is the whole expression */
	size_t last;                /* size of the last atom, which can be repeated; 0: none */
	const char *refused;        /* why the expression is refused, or NULL */
};

static size_t limited(size_t size)
{
	return size > PATTERN_SIZE_MAX ? PATTERN_SIZE_MAX + 1 : size;
}

static void begin_atom(struct measure *measure, size_t size)
{
	size_t *group = &measure->groups[measure->depth];

	*group = limited(*group + measure->last);
	measure->last = size;
}

static void repeat(struct measure *measure, size_t times)
{
	if (times > 1)
		measure->last = limited(measure->last * times);
}

static void open_group(struct measure *measure)
{
	begin_atom(measure, 0);
	if (measure->depth + 1 == NESTING_MAX) {
		measure->refused = "too many nested parentheses";
		return;
	}
	measure->groups[++measure->depth] = 1;
}

/* Outside of groups, a parenthesis stands for itself. */
static void close_group(struct measure *measure)
{
	begin_atom(measure, 1);
	if (measure->depth)
		measure->last = measure->groups[measure->depth--];
}

/* Skips an expression in brackets, whose first bracket was read. It is one character. */
static void skip_brackets(struct measure *measure)
{
	const char *at = measure->at + (*measure->at == '^');

	at += *at == ']';
	while (*at && *at != ']') {
		const char end[] = {at[1], ']', '\0'};
		const char *class =
			*at == '[' && at[1] && strchr(":.=", at[1]) ? strstr(at + 2, end) : NULL;

		at = class ? class + 2 : at + 1;
	}
	measure->at = at + (*at == ']');
}

static size_t read_times(const char **at)
{
	size_t times = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++)
		times = times < TIMES_MAX ? times * 10 + (size_t)(**at - '0') : TIMES_MAX;
	return times;
}

/* Reads {3}, {3,} or {3,5}, whose brace was read. Another brace stands for itself. */
static void read_interval(struct measure *measure)
{
	const char *at = measure->at;
	size_t times = read_times(&at);

	if (*at == ',') {
		at++;
		times = *at == '}' ? times + 1 : read_times(&at);
	}
	if (*at != '}') {
		begin_atom(measure, 1);
		return;
	}
	measure->at = at + 1;
	repeat(measure, times);
}

static void read_escape(struct measure *measure)
{
	if (*measure->at >= '1' && *measure->at <= '9')
		measure->refused = "back-references are not supported";
	measure->at += *measure->at != '\0';
	begin_atom(measure, 1);
}

static void read_next(struct measure *measure)
{
	switch (*measure->at++) {
	case '\\':
		read_escape(measure);
		break;
	case '(':
		open_group(measure);
		break;
	case ')':
		close_group(measure);
		break;
	case '[':
		begin_atom(measure, 1);
		skip_brackets(measure);
		break;
	case '{':
		read_interval(measure);
		break;
	case '+': /* a+ is compiled like aa* */
		repeat(measure, 2);
		break;
	case '*':
	case '?':
		break;
	default:
		begin_atom(measure, 1);
	}
}

/* Returns why the expression is refused, or NULL. */
static const char *measure_pattern(const char *text, size_t *ret_size)
{
	struct measure measure = {.at = text};

	if (strlen(text) > PATTERN_SIZE_MAX)
		return "too long";
	while (*measure.at && !measure.refused)
		read_next(&measure);
	*ret_size = measure.last;
	for (size_t i = 0; i <= measure.depth; i++)
		*ret_size += measure.groups[i];
	if (!measure.refused && *ret_size > PATTERN_SIZE_MAX)
		measure.refused = "too many repetitions";
	return measure.refused;
}

int pattern_compile(const char *text, int flags, regex_t *ret_regex, size_t *ret_size,
		    char reason[PATTERN_REASON_SIZE])
{
	size_t size;
	const char *refused = measure_pattern(text, &size);
	int code;

	if (refused) {
		snprintf(reason, PATTERN_REASON_SIZE, "%s", refused);
		return -EINVAL;
	}
	code = regcomp(ret_regex, text, flags | REG_EXTENDED | REG_NOSUB);
	if (!code) {
		if (ret_size)
			*ret_size = size;
		return 0;
	}
	regerror(code, ret_regex, reason, PATTERN_REASON_SIZE);
	return code == REG_ESPACE ? -ENOMEM : -EINVAL;
}
