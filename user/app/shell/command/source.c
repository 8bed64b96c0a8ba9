/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the source line of a site, if the file is available. */
#include "app/shell/command/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process/rights.h"
#include "report/common/frame.h"
#include "report/common/name.h"

#define AROUND     2 /* lines before and after it */
#define INDENT     4
#define NUMBER_MAX 6 /* digits */
#define TAB        8
#define TEXT_MAX   1024
#define FILE_MAX   (16 << 20)

/* Expands tabs, and cuts the line to what can be shown. */
static void expand(const char *line, char text[TEXT_MAX])
{
	size_t used = 0;

	for (; *line && *line != '\n' && used + TAB + 1 < TEXT_MAX; line++) {
		size_t blanks = *line == '\t' ? TAB - used % TAB : 0;

		memset(text + used, ' ', blanks);
		used += blanks;
		if (!blanks && *line != '\r')
			text[used++] = *line;
	}
	text[used] = '\0';
}

static void write_line(struct page *page, unsigned int number, const char *line, bool here)
{
	enum style style = here ? STYLE_CULPRIT : STYLE_QUIET;
	char text[TEXT_MAX], shown[16];

	expand(line, text);
	page_to(page, INDENT - 2);
	page_text(page, style, here ? page_symbol(page, SYMBOL_ARROW) : " ");
	page_to(page, INDENT);
	snprintf(shown, sizeof(shown), "%u", number);
	page_right(page, style, NUMBER_MAX, shown);
	page_to(page, INDENT + NUMBER_MAX + 2);
	page_text(page, here ? STYLE_PLAIN : STYLE_QUIET, text);
	page_end(page);
}

static void write_lines(struct page *page, FILE *file, unsigned int wanted)
{
	unsigned int number = 0;
	size_t capacity = 0;
	char *line = NULL;

	while (number < wanted + AROUND && getline(&line, &capacity, file) >= 0)
		if (++number + AROUND >= wanted)
			write_line(page, number, line, number == wanted);
	free(line);
}

/*
 * The author of the program chooses this name, so the file is opened with that user's rights, and
 * only if its size is plausible. `program` is NULL if the program is not on this machine. Returns
 * NULL if the file is not available.
 */
static FILE *source_open(const char *path, const struct stat *program, struct stat *ret_status)
{
	const struct rights rights = program ? rights_of_author(program) : rights_of_everyone();
	int fd = rights_open_regular(&rights, path, ret_status);
	FILE *file = NULL;

	if (fd >= 0 && ret_status->st_size > 0 && ret_status->st_size <= FILE_MAX)
		file = fdopen(fd, "r");
	if (!file && fd >= 0)
		close(fd);
	return file;
}

void shell_source_write(struct page *page, const struct snapshot_frame *frame)
{
	struct stat program, source;
	bool is_here;
	FILE *file;

	if (!frame || !frame->file || !frame->line)
		return;
	is_here = frame->module && !stat(frame->module, &program);
	file = source_open(frame->file, is_here ? &program : NULL, &source);
	if (!file)
		return;
	page_end(page);
	page_to(page, 2);
	page_text(page, STYLE_QUIET, frame->file);
	if (is_here && source.st_mtime > program.st_mtime)
		page_text(page, STYLE_WARNING, ", which is newer than the program");
	page_end(page);
	write_lines(page, file, frame->line);
	fclose(file);
}
