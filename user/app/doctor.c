/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this kernel, these privileges and this machine allow, and how to get more. */
#include "app/command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/terminal.h"

/* How a capability stands. */
enum verdict { VERDICT_OK, VERDICT_LIMITED, VERDICT_MISSING, VERDICT_COUNT };

static const struct {
	const char *word;
	enum style style;
} verdicts[] = {
	[VERDICT_OK] = {"ok", STYLE_GOOD},
	[VERDICT_LIMITED] = {"limited", STYLE_CAUTION},
	[VERDICT_MISSING] = {"MISSING", STYLE_BAD},
};
_Static_assert(sizeof(verdicts) / sizeof(verdicts[0]) == VERDICT_COUNT, "a word for each verdict");

#define VERDICT_WIDTH 7

static enum verdict capability_verdict(const struct capability *capability)
{
	if (capability->ok)
		return VERDICT_OK;
	return capability->needed ? VERDICT_MISSING : VERDICT_LIMITED;
}

static int name_width(const struct capability *capabilities, size_t count)
{
	size_t widest = 0;

	for (size_t i = 0; i < count; i++)
		if (strlen(capabilities[i].name) > widest)
			widest = strlen(capabilities[i].name);
	return (int)widest;
}

/* Words of a long text, continued below its beginning. */
static void wrapped_print(const char *text, int column, int width)
{
	int used = 0;

	while (*text) {
		int length = (int)strcspn(text, " ");

		if (used && column + used + 1 + length > width) {
			printf("\n%*s", column, "");
			used = 0;
		}
		used += printf("%s%.*s", used ? " " : "", length, text);
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void capability_print(const struct capability *capability, int width, int columns,
			     bool color)
{
	enum verdict verdict = capability_verdict(capability);
	enum style style = verdicts[verdict].style;
	const char *arrow = terminal_utf8() ? "→" : "->";
	int column = 2 + VERDICT_WIDTH + 2 + width + 2;

	printf("  %s%-*s%s  %-*s  ", style_begin(style, color), VERDICT_WIDTH,
	       verdicts[verdict].word, style_end(style, color), width, capability->name);
	wrapped_print(capability->detail, column, columns);
	if (capability->ok || !capability->advice[0])
		return;
	printf("%*s%s ", column, "", arrow);
	wrapped_print(capability->advice, column + (terminal_utf8() ? 2 : 3), columns);
}

static void heading_print(bool color)
{
	printf("%smtrace-bpf " MTRACE_VERSION "%s: what this machine allows\n\n",
	       style_begin(STYLE_BOLD, color), style_end(STYLE_BOLD, color));
}

/* The last line; returns how many of the needed capabilities are missing. */
static size_t summary_print(const struct capability *capabilities, size_t count, bool color)
{
	size_t missing = 0, limited = 0;
	enum verdict verdict = VERDICT_OK;

	for (size_t i = 0; i < count; i++) {
		missing += capability_verdict(&capabilities[i]) == VERDICT_MISSING;
		limited += capability_verdict(&capabilities[i]) == VERDICT_LIMITED;
	}
	if (missing)
		verdict = VERDICT_MISSING;
	printf("\n%s%s%s", style_begin(verdicts[verdict].style, color),
	       missing ? "Tracing will not work here" : "Tracing will work here",
	       style_end(verdicts[verdict].style, color));
	if (missing)
		printf(": %zu of what it needs %s missing.\n", missing, missing > 1 ? "are" : "is");
	else
		printf("%s.\n", limited ? ", within the limits above" : "");
	return missing;
}

int command_doctor(const struct options *options)
{
	bool color = terminal_color(options->color, STDOUT_FILENO);
	struct capability capabilities[CAPABILITY_MAX];
	size_t count = source_bpf_capabilities(capabilities);
	int columns = (int)terminal_width(STDOUT_FILENO);
	int width = name_width(capabilities, count);

	heading_print(color);
	for (size_t i = 0; i < count; i++)
		capability_print(&capabilities[i], width, columns, color);
	return summary_print(capabilities, count, color) ? EXIT_CANNOT : EXIT_DONE;
}
