/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides if a suppression matches a stack. */
#include "model/suppress/match.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAMELESS "???" /* as in valgrind */

/*
 * After a run, the shortest text is tried first; if the rest does not match, the last run takes one
 * byte more. Earlier runs never need to: whatever they leave, the last one can take.
 */
bool wild_match(const char *wild, const char *text, size_t length)
{
	const char *end = text + length, *retry_wild = NULL, *retry_text = NULL;

	while (text < end || *wild) {
		if (*wild == WILD_RUN) {
			retry_wild = ++wild;
			retry_text = text;
		} else if (text < end && *wild && (*wild == WILD_ONE || *wild == *text)) {
			wild++;
			text++;
		} else if (retry_wild && retry_text < end) {
			wild = retry_wild;
			text = ++retry_text;
		} else {
			return false;
		}
	}
	return true;
}

static bool wild_matches(const char *wild, const char *text)
{
	return text && wild_match(wild, text, strlen(text));
}

/* The pattern "f" also matches "f(int)": every part that ends before a parenthesis is tried. */
static bool wild_matches_function(const char *wild, const char *function)
{
	const char *at;

	for (at = strchr(function, '('); at; at = strchr(at + 1, '('))
		if (at > function && wild_match(wild, function, (size_t)(at - function)))
			return true;
	return wild_matches(wild, function);
}

static bool function_matches(const struct frame_rule *rule, const struct snapshot_frame *frame)
{
	const char *function = frame->function ? frame->function : NAMELESS;

	return wild_matches_function(rule->wild, function) ||
	       (rule->demangled && wild_matches_function(rule->demangled, function));
}

static bool regex_matches(const struct frame_rule *rule, const struct snapshot_frame *frame)
{
	return frame->function && !regexec(&rule->regex, frame->function, 0, NULL, 0);
}

static bool any_name_matches(const struct frame_rule *rule, const struct snapshot_frame *frame)
{
	return wild_matches(rule->wild, frame->function) || wild_matches(rule->wild, frame->file) ||
	       wild_matches(rule->wild, frame->module);
}

static bool module_matches(const struct frame_rule *rule, const struct snapshot_frame *frame)
{
	return wild_matches(rule->wild, frame->module ? frame->module : NAMELESS);
}

static bool source_matches(const struct frame_rule *rule, const struct snapshot_frame *frame)
{
	const char *base = frame->file ? strrchr(frame->file, '/') : NULL;
	char line[320];

	if (!frame->file)
		return false;
	base = base ? base + 1 : frame->file;
	snprintf(line, sizeof(line), "%s:%" PRIu32, base, frame->line);
	return wild_matches(rule->wild, frame->file) || wild_matches(rule->wild, base) ||
	       wild_matches(rule->wild, line);
}

static bool skip_matches(const struct frame_rule *rule, const struct snapshot_frame *frame)
{
	(void)rule;
	(void)frame;
	return true;
}

typedef bool frame_matcher(const struct frame_rule *rule, const struct snapshot_frame *frame);

static frame_matcher *const matchers[] = {
	[FRAME_FUNCTION] = function_matches, [FRAME_REGEX] = regex_matches,
	[FRAME_ANY_NAME] = any_name_matches, [FRAME_MODULE] = module_matches,
	[FRAME_SOURCE] = source_matches,     [FRAME_SKIP] = skip_matches,
};

_Static_assert(sizeof(matchers) / sizeof(matchers[0]) == FRAME_KIND_COUNT, "one for each kind");

static bool frame_matches(const struct frame_rule *rule, const struct snapshot_frame *frame)
{
	return matchers[rule->kind](rule, frame);
}

static bool matches_anywhere(const struct suppression *suppression,
			     const struct snapshot_stack *stack)
{
	for (uint32_t i = 0; i < stack->frame_count; i++)
		if (frame_matches(&suppression->frames.items[0], &stack->frames[i]))
			return true;
	return false;
}

/* Counts frames of wrappers (operator new), which in memcheck's stacks are the allocator itself. */
static uint32_t wrapper_count(const struct snapshot_stack *stack)
{
	uint32_t count = 0;

	while (count < stack->frame_count && stack->frames[count].wrapper)
		count++;
	return count;
}

/* The allocator and its frame have several names; one match is enough. */
static bool allocator_matches(const struct frame_rule *rule, const struct snapshot_site *site,
			      const struct snapshot_stack *stack)
{
	const char *const *symbol = api_row(site->api)->symbols;
	struct snapshot_frame frame = {.function = api_name(site->api)};

	if (frame_matches(rule, &frame))
		return true;
	for (size_t i = 0; i < API_SYMBOLS_MAX && symbol[i]; i++) {
		frame.function = symbol[i];
		if (frame_matches(rule, &frame))
			return true;
	}
	for (uint32_t i = 0; i < wrapper_count(stack); i++)
		if (frame_matches(rule, &stack->frames[i]))
			return true;
	return false;
}

/* Frame 0 is the allocator; the others are those of the stack without its wrappers. */
static bool matches_at(const struct frame_rule *rule, const struct snapshot_site *site,
		       const struct snapshot_stack *stack, uint32_t index)
{
	if (!index)
		return allocator_matches(rule, site, stack);
	return frame_matches(rule, &stack->frames[wrapper_count(stack) + index - 1]);
}

/* Like wild_match, with frames instead of bytes and FRAME_SKIP for runs. The stack may have more
 * frames. */
static bool matches_in_order(const struct suppression *suppression,
			     const struct snapshot_site *site, const struct snapshot_stack *stack)
{
	uint32_t count = stack->frame_count - wrapper_count(stack) + 1, index = 0, retry_index = 0;
	size_t rules = suppression->frames.count, rule = 0, retry_rule = 0;

	while (rule < rules) {
		const struct frame_rule *wanted = &suppression->frames.items[rule];

		if (wanted->kind == FRAME_SKIP) {
			retry_rule = ++rule;
			retry_index = index;
		} else if (index < count && matches_at(wanted, site, stack, index)) {
			rule++;
			index++;
		} else if (retry_rule && retry_index < count) {
			rule = retry_rule;
			index = ++retry_index;
		} else {
			return false;
		}
	}
	return true;
}

bool suppression_matches(const struct suppression *suppression, const struct snapshot_site *site,
			 const struct snapshot_stack *stack)
{
	if (suppression->anywhere)
		return matches_anywhere(suppression, stack);
	return matches_in_order(suppression, site, stack);
}
