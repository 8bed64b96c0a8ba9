/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source of the shell's lines: a terminal with editing, history and completion
 * (input_readline.c; in a build without readline, input_plain.c uses the terminal's own line mode),
 * or anything else on standard input (input_plain.c). Lines arrive through the event loop, so the
 * trace continues meanwhile.
 */
#ifndef MTRACE_APP_TERMINAL_INPUT_H
#define MTRACE_APP_TERMINAL_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

#define SHELL_LINE_MAX 65536 /* bytes; longer lines are not run */

enum shell_line {
	SHELL_LINE_TEXT,
	SHELL_LINE_LONG,   /* longer than SHELL_LINE_MAX */
	SHELL_LINE_BINARY, /* contains a zero byte */
};

struct shell_input_config {
	struct loop *loop;
	const char *prompt; /* "" for scripts */
	/* A line without its newline. Input is paused while the callback runs. */
	void (*line)(void *ctx, enum shell_line kind, const char *line);
	void (*end)(void *ctx); /* end of file, or the terminal hung up */
	/*
	 * For completion: the index-th word that can follow `line` (the text before it) and begins
	 * with `word`, or NULL after the last. The caller frees it. Set *ret_files to offer file
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
	/* Leaves the descriptor and the terminal to others until resumed. */
	void (*pause)(struct shell_input *input);
	void (*resume)(struct shell_input *input);
	/* Discards the typed line (^C). */
	void (*cancel)(struct shell_input *input);
	/* Hides the typed line before other output is printed; show() displays it again. */
	void (*hide)(struct shell_input *input);
	void (*show)(struct shell_input *input);
	void (*close)(struct shell_input *input); /* NULL is fine */
};

extern const struct shell_input_ops input_plain;

#endif
