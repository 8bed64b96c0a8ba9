/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/terminal/terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_MIN     60
#define WIDTH_MAX     160
#define WIDTH_DEFAULT 80

static bool environment_wants_color(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return (!no_color || !*no_color) && term && strcmp(term, "dumb");
}

bool terminal_color(enum color_mode mode, int fd)
{
	if (mode != COLOR_AUTO)
		return mode == COLOR_ALWAYS;
	return isatty(fd) && environment_wants_color();
}

bool terminal_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

uint32_t terminal_width(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col)
		return WIDTH_DEFAULT;
	if (size.ws_col < WIDTH_MIN)
		return WIDTH_MIN;
	return size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
}

static const char *const style_sequences[] = {
	[TERMINAL_PLAIN] = "",           [TERMINAL_BOLD] = "\033[1m",
	[TERMINAL_GOOD] = "\033[32m",    [TERMINAL_BAD] = "\033[1;31m",
	[TERMINAL_CAUTION] = "\033[33m",
};
_Static_assert(sizeof(style_sequences) / sizeof(style_sequences[0]) == TERMINAL_STYLES,
	       "all styles");

const char *style_begin(enum terminal_style style, bool color)
{
	return color ? style_sequences[style] : "";
}

const char *style_end(enum terminal_style style, bool color)
{
	return color && style != TERMINAL_PLAIN ? "\033[0m" : "";
}
