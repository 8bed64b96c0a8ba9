// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines from a pipe, a file, a socket, or a terminal in its own line mode. A regular file is always
 * ready and cannot be watched, so a timer reads on, which lets the trace run between lines.
 */
#include "app/terminal/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/vec.h"

#define CHUNK        4096
#define FILE_TURN_NS 1000000ULL

struct plain {
	struct shell_input input;
	struct shell_input_config config;
	struct loop_watch *watch;
	VEC(char) line; /* so far */
	bool overlong;
	bool binary;
	bool paused;
	char chunk[CHUNK]; /* bytes read; those before `at` are consumed */
	size_t at, size;
	bool ended;
};

static struct plain *plain_of(struct shell_input *input)
{
	return (struct plain *)input;
}

static void prompt(const struct plain *plain)
{
	if (*plain->config.prompt) {
		fputs(plain->config.prompt, stderr);
		fflush(stderr);
	}
}

static void hand_over(struct plain *plain)
{
	enum shell_line kind = plain->binary     ? SHELL_LINE_BINARY
			       : plain->overlong ? SHELL_LINE_LONG
						 : SHELL_LINE_TEXT;

	if (vec_push(&plain->line, '\0'))
		kind = SHELL_LINE_LONG;
	plain->config.line(plain->config.ctx, kind,
			   kind == SHELL_LINE_TEXT ? plain->line.items : "");
}

/* Takes bytes up to the end of a line. Returns true if it was found. */
static bool take_bytes(struct plain *plain)
{
	while (plain->at < plain->size) {
		char byte = plain->chunk[plain->at++];

		if (byte == '\n')
			return true;
		plain->binary |= !byte;
		if (plain->line.count >= SHELL_LINE_MAX || vec_push(&plain->line, byte))
			plain->overlong = true;
	}
	return false;
}

static void begin_line(struct plain *plain)
{
	plain->line.count = 0;
	plain->overlong = plain->binary = false;
}

/* Hands over all complete lines, until paused. */
static void run_lines(struct plain *plain)
{
	while (!plain->paused && take_bytes(plain)) {
		hand_over(plain);
		begin_line(plain);
	}
	if (plain->paused || !plain->ended || plain->at < plain->size)
		return;
	if (plain->line.count) { /* the last line has no newline */
		hand_over(plain);
		begin_line(plain);
	}
	plain->config.end(plain->config.ctx);
}

static void on_input(void *ctx, uint32_t what)
{
	struct plain *plain = ctx;
	ssize_t got;

	(void)what;
	if (plain->paused || plain->ended)
		return;
	if (plain->at == plain->size) {
		got = read(STDIN_FILENO, plain->chunk, sizeof(plain->chunk));
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		plain->at = 0;
		plain->size = got > 0 ? (size_t)got : 0;
		plain->ended = got <= 0;
	}
	run_lines(plain);
}

static int watch(struct plain *plain)
{
	struct loop *loop = plain->config.loop;
	int code = loop_add_fd(loop, STDIN_FILENO, EPOLLIN, on_input, plain, &plain->watch);

	if (code == -EPERM)
		code = loop_add_timer(loop, FILE_TURN_NS, FILE_TURN_NS, on_input, plain,
				      &plain->watch);
	return code;
}

static void plain_pause(struct shell_input *input)
{
	struct plain *plain = plain_of(input);

	loop_remove(plain->config.loop, plain->watch);
	plain->watch = NULL;
	plain->paused = true;
}

static void plain_resume(struct shell_input *input)
{
	struct plain *plain = plain_of(input);

	plain->paused = false;
	prompt(plain);
	if (watch(plain)) {
		plain->ended = true;
		plain->config.end(plain->config.ctx);
	}
}

static void plain_cancel(struct shell_input *input)
{
	begin_line(plain_of(input));
	prompt(plain_of(input));
}

static void plain_nothing(struct shell_input *input)
{
	(void)input;
}

static void plain_close(struct shell_input *input)
{
	struct plain *plain = plain_of(input);

	if (!plain)
		return;
	loop_remove(plain->config.loop, plain->watch);
	vec_free(&plain->line);
	free(plain);
}

static int plain_open(struct shell_input **ret_input, const struct shell_input_config *config)
{
	struct plain *plain = calloc(1, sizeof(*plain));

	if (!plain)
		return -ENOMEM;
	plain->input.ops = &input_plain;
	plain->config = *config;
	plain->paused = true;
	*ret_input = &plain->input;
	return 0;
}

const struct shell_input_ops input_plain = {
	.open = plain_open,
	.pause = plain_pause,
	.resume = plain_resume,
	.cancel = plain_cancel,
	.hide = plain_nothing,
	.show = plain_nothing,
	.close = plain_close,
};
