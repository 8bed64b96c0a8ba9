/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks what the kernel, the privileges and the machine allow, and says how to get more. */

#include "app/cli/doctor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/cli/usage.h"
#include "app/terminal/terminal.h"
#include "source/backends.h"

/* The state of a capability. */
enum verdict { VERDICT_OK, VERDICT_LIMITED, VERDICT_MISSING, VERDICT_COUNT };

static const struct {
	const char *word;
	enum terminal_style style;
} verdicts[] = {
	[VERDICT_OK] = {"ok", TERMINAL_GOOD},
	[VERDICT_LIMITED] = {"limited", TERMINAL_CAUTION},
	[VERDICT_MISSING] = {"MISSING", TERMINAL_BAD},
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

/* Wraps a long text at words and indents the following lines to `column`. */
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
	enum terminal_style style = verdicts[verdict].style;
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
	printf("%smtrace-bpf " MTRACE_VERSION "%s: what works on this machine\n\n",
	       style_begin(TERMINAL_BOLD, color), style_end(TERMINAL_BOLD, color));
}

/* A way to trace. */
struct trace_way {
	const char *name;
	enum backend backend;
	struct capability capabilities[CAPABILITY_MAX];
	size_t count;
};

static size_t count_verdict(const struct trace_way *way, enum verdict verdict)
{
	size_t count = 0;

	for (size_t i = 0; i < way->count; i++)
		count += capability_verdict(&way->capabilities[i]) == verdict;
	return count;
}

static bool works(const struct trace_way *way)
{
	return !count_verdict(way, VERDICT_MISSING);
}

static void way_print(const struct trace_way *way, int width, bool color)
{
	int columns = (int)terminal_width(STDOUT_FILENO);

	printf("%s%s%s\n", style_begin(TERMINAL_BOLD, color), way->name,
	       style_end(TERMINAL_BOLD, color));
	for (size_t i = 0; i < way->count; i++)
		capability_print(&way->capabilities[i], width, columns, color);
	putchar('\n');
}

static void words_print(enum verdict verdict, const char *words, bool color)
{
	printf("%s%s%s", style_begin(verdicts[verdict].style, color), words,
	       style_end(verdicts[verdict].style, color));
}

static const char *within(const struct trace_way *way)
{
	return count_verdict(way, VERDICT_LIMITED) ? ", within the limits above" : "";
}

/* The last line: which backend will be used, and why. */
static bool summary_print(const struct trace_way *bpf, const struct trace_way *ptrace, bool color)
{
	size_t missing = count_verdict(bpf, VERDICT_MISSING);

	if (works(bpf)) {
		words_print(VERDICT_OK, "Tracing will work here", color);
		printf(", by BPF%s.\n", within(bpf));
		return true;
	}
	if (!works(ptrace)) {
		words_print(VERDICT_MISSING, "Tracing will not work here", color);
		puts(", neither by BPF nor by ptrace.");
		return false;
	}
	words_print(VERDICT_LIMITED, "Tracing will work here", color);
	printf(", by ptrace%s: %zu of the requirements of BPF %s missing.\n", within(ptrace),
	       missing, missing > 1 ? "are" : "is");
	return true;
}

int command_doctor(const struct options *options)
{
	bool color = terminal_color(options->color, STDOUT_FILENO);
	struct trace_way ways[] = {{.name = "BPF", .backend = BACKEND_BPF},
				   {.name = "ptrace", .backend = BACKEND_PTRACE}};
	int width = 0;

	for (size_t i = 0; i < 2; i++) {
		int own;

		ways[i].count = source_capabilities(ways[i].backend, ways[i].capabilities);
		own = name_width(ways[i].capabilities, ways[i].count);
		width = own > width ? own : width;
	}
	heading_print(color);
	way_print(&ways[0], width, color);
	way_print(&ways[1], width, color);
	return summary_print(&ways[0], &ways[1], color) ? EXIT_DONE : EXIT_CANNOT;
}
