/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the shell's lines come from: a terminal, with editing, history and completion
 * (input_readline.c, by readline; where the program is built without that, input_plain.c does with
 * what the terminal itself can), or anything else on standard input (input_plain.c). Lines come
 * from the event loop, so the trace goes on meanwhile.
 */
#ifndef MTRACE_APP_TERMINAL_INPUT_H
#define MTRACE_APP_TERMINAL_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

#define SHELL_LINE_MAX 65536 /* bytes; what is longer is no command */

enum shell_line {
	SHELL_LINE_TEXT,
	SHELL_LINE_LONG,   /* longer than SHELL_LINE_MAX */
	SHELL_LINE_BINARY, /* has a zero in it */
};

struct shell_input_config {
	struct loop *loop;
	const char *prompt; /* "" for scripts */
	/* A line without its end; it is paused meanwhile. */
	void (*line)(void *ctx, enum shell_line kind, const char *line);
	void (*end)(void *ctx); /* end of file, or the terminal is gone */
	/*
	 * For completion: the index-th word that can stand at the end of `line` (what is before it
	 * on the line) and begins with `word`, to be freed; NULL behind the last. *ret_files: file
	 * names as well.
	 */
	char *(*complete)(void *ctx, const char *line, const char *word, size_t index,
			  bool *ret_files);
	void *ctx;
};

struct shell_input {
	const struct shell_input_ops *ops;
};

struct shell_input_ops {
	int (*open)(struct shell_input **ret_input, const struct shell_input_config *config);
	/* Leave the descriptor and the terminal to others, until resumed. */
	void (*pause)(struct shell_input *input);
	void (*resume)(struct shell_input *input);
	/* Throw away what was typed so far (^C). */
	void (*cancel)(struct shell_input *input);
	/* Something else is going to be printed; then: what was typed is shown again. */
	void (*hide)(struct shell_input *input);
	void (*show)(struct shell_input *input);
	void (*close)(struct shell_input *input); /* NULL is fine */
};

extern const struct shell_input_ops input_plain;

#endif
