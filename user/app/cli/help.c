/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the help text from the option table: 80 columns, options left, descriptions right. */
#include "app/cli/help.h"

#include <string.h>
#include <unistd.h>

#include "app/cli/option_table.h"
#include "app/cli/options.h"
#include "app/cli/usage.h"
#include "app/terminal/terminal.h"

#define MEANING_COLUMN 32

static const char usage_text[] =
	"mtrace-bpf [OPTIONS] -p PID[,PID...]    attach to running processes\n"
	"mtrace-bpf [OPTIONS] [--] CMD [ARG...]  launch CMD and trace it\n"
	"mtrace-bpf [OPTIONS] --system-wide      all processes, current and future\n"
	"mtrace-bpf report [OPTIONS] FILE        report a recording or MALLOC_TRACE log\n"
	"mtrace-bpf diff [OPTIONS] OLD NEW       what grew between two JSON reports\n"
	"mtrace-bpf serve [OPTIONS] ...          trace for remote clients: -p, CMD ...\n"
	"mtrace-bpf connect [OPTIONS] ADDR       report the trace of a server\n"
	"mtrace-bpf doctor                       check what works on this machine\n";

static const char example_text[] =
	"mtrace-bpf -p \"$(pidof redis-server)\"   ^C ends the trace and reports\n"
	"mtrace-bpf --format json -o out.json ls -l /usr\n"
	"mtrace-bpf -f make -j4                  also trace its children\n"
	"mtrace-bpf --comm nginx                 all processes with this name\n";

static void heading_print(FILE *out, const char *text, bool color)
{
	fprintf(out, "%s%s%s\n", style_begin(TERMINAL_BOLD, color), text,
		style_end(TERMINAL_BOLD, color));
}

/* Prints each line indented by `indent` blanks; the first line already has `column` columns. */
static void lines_print(FILE *out, const char *text, int column, int indent)
{
	while (*text) {
		int length = (int)strcspn(text, "\n");

		fprintf(out, "%*s%.*s\n", indent - column, "", length, text);
		text += length + (text[length] == '\n');
		column = 0;
	}
}

static void option_print(FILE *out, const struct option_row *row)
{
	char heading[OPTION_HEADING_SIZE];
	int column;

	option_heading(row, heading);
	column = fprintf(out, "  %s%s", row->letter ? "" : "    ", heading);
	if (column + 2 > MEANING_COLUMN) {
		fputc('\n', out);
		column = 0;
	}
	lines_print(out, row->help, column, MEANING_COLUMN);
}

static void group_print(FILE *out, enum option_group group, bool color)
{
	const struct option_row *row;

	heading_print(out, option_group_name(group), color);
	for (size_t i = 0; (row = option_at(i)); i++)
		if (row->group == group)
			option_print(out, row);
	fputc('\n', out);
}

void usage_print(FILE *out)
{
	fputs("usage:\n", out);
	lines_print(out, usage_text, 0, 2);
	fputs("see mtrace-bpf --help\n", out);
}

void help_print(FILE *out, bool color)
{
	fputs("Trace the memory allocations of running programs and find their leaks.\n\n", out);
	heading_print(out, "Usage", color);
	lines_print(out, usage_text, 0, 2);
	fputc('\n', out);
	for (int group = 0; group < GROUP_COUNT; group++)
		group_print(out, (enum option_group)group, color);
	heading_print(out, "Examples", color);
	lines_print(out, example_text, 0, 2);
	fputs("\nFor signals, exit status, files and limits, see man mtrace-bpf.\n", out);
}

void version_print(FILE *out)
{
	fputs("mtrace-bpf " MTRACE_VERSION "\n"
	      "License GPL-2.0-or-later; there is no warranty, to the extent permitted by law.\n",
	      out);
}

int command_help(const struct options *options)
{
	help_print(stdout, terminal_color(options->color, STDOUT_FILENO));
	return EXIT_DONE;
}
