/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the terminal behind a descriptor can show. */
#ifndef MTRACE_APP_TERMINAL_TERMINAL_H
#define MTRACE_APP_TERMINAL_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

enum terminal_style {
	TERMINAL_PLAIN,
	TERMINAL_BOLD,
	TERMINAL_GOOD,
	TERMINAL_BAD,
	TERMINAL_CAUTION,
	TERMINAL_STYLES
};

/*
 * Returns true to use colour. COLOR_AUTO: on a capable terminal, unless NO_COLOR is set
 * (no-color.org).
 */
bool terminal_color(enum color_mode mode, int fd);
/* Returns true if the locale uses UTF-8. Needs setlocale(LC_CTYPE, ""). */
bool terminal_utf8(void);
/* Columns, 60 to 160; 80 if fd is not a terminal. */
uint32_t terminal_width(int fd);

/* The sequences that begin and end a style; "" without colour. */
const char *style_begin(enum terminal_style style, bool color);
const char *style_end(enum terminal_style style, bool color);

#endif
