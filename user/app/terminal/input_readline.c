// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines from a terminal, through readline's callback interface: readline reads a character when one
 * is available and hands over each complete line. Its signal handlers are off, because signals are
 * events here (the trace handles ^C, the loop handles changes of the window size).
 *
 * readline keeps its state in globals and its callbacks have no context, so there can be only one
 * instance.
 */
#include "app/terminal/input_readline.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "app/terminal/output.h"
#include "base/log.h"

#define HISTORY_LINES 1000

struct terminal {
	struct shell_input input;
	struct shell_input_config config;
	struct loop_watch *watch;
	struct loop_watch *resized;
	char *history; /* history file, or NULL */
	char *line;    /* complete, but not handed over yet */
	bool complete; /* a line, or the end */
	bool paused;
	char *saved; /* the typed line while it is hidden */
	int saved_point;
	bool hidden;
};

static struct terminal *only;

static struct terminal *terminal_of(struct shell_input *input)
{
	return (struct terminal *)input;
}

/* ---- history ---- */

/*
 * Creates the parent directories with mode 0700, as the XDG Base Directory Specification requires.
 */
static void make_directories(const char *path)
{
	char *copy = strdup(path);

	for (char *slash = copy ? strchr(copy + 1, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(copy, 0700);
		*slash = '/';
	}
	free(copy);
}

/* $MTRACE_BPF_HISTORY (empty: none); otherwise a file in the state directory. */
static char *history_path(void)
{
	const char *path = getenv("MTRACE_BPF_HISTORY");
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *made = NULL;
	int length = -1;

	if (path)
		return *path ? strdup(path) : NULL;
	if (state && *state == '/')
		length = asprintf(&made, "%s/mtrace-bpf/history", state);
	else if (home && *home == '/')
		length = asprintf(&made, "%s/.local/state/mtrace-bpf/history", home);
	return length < 0 ? NULL : made;
}

static bool is_ours_to_read(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode);
}

static void history_load(struct terminal *terminal)
{
	terminal->history = history_path();
	using_history();
	stifle_history(HISTORY_LINES);
	if (terminal->history && is_ours_to_read(terminal->history))
		read_history(terminal->history);
}

/* Not by write_history(), which would follow a symbolic link of another user. */
static int history_write(const char *path, struct error *err)
{
	struct output output;
	int code = output_open(&output, path, OUTPUT_PRIVATE, err);

	if (code)
		return code;
	for (HIST_ENTRY **entry = history_list(); entry && *entry; entry++)
		fprintf(output.stream, "%s\n", (*entry)->line);
	return output_commit(&output, err);
}

static void history_save(const struct terminal *terminal)
{
	struct error err;

	if (!terminal->history || !history_length)
		return;
	make_directories(terminal->history);
	if (history_write(terminal->history, &err))
		log_info("cannot keep the history: %s", err.text);
}

/* Skips blank lines and repetitions of the last one. */
static void history_note(const char *line)
{
	const HIST_ENTRY *last =
		history_length ? history_get(history_base + history_length - 1) : NULL;

	if (line[strspn(line, " \t")] && (!last || strcmp(last->line, line)))
		add_history(line);
}

/* ---- completion ---- */

struct completion {
	char *before; /* the line before the word */
	size_t index;
	bool files;
};

static struct completion completion;

static char *complete_next(const char *word, int again)
{
	if (!again)
		completion.index = 0;
	return only->config.complete(only->config.ctx, completion.before, word, completion.index++,
				     &completion.files);
}

static char **complete_word(const char *word, int start, int end)
{
	char **words;

	(void)end;
	free(completion.before);
	completion = (struct completion){.before = strndup(rl_line_buffer, (size_t)start)};
	rl_attempted_completion_over = 1;
	if (!completion.before)
		return NULL;
	words = rl_completion_matches(word, complete_next);
	rl_attempted_completion_over = !completion.files;
	return words;
}

/* ---- lines ---- */

static void take_line(char *line)
{
	only->line = line;
	only->complete = true;
	/* give the terminal back to the command */
	rl_callback_handler_remove();
}

static void hand_over(struct terminal *terminal)
{
	char *line = terminal->line, *rest = line, *part;

	terminal->line = NULL;
	terminal->complete = false;
	if (!line) {
		fputc('\n', stdout);
		terminal->config.end(terminal->config.ctx);
		return;
	}
	history_note(line);
	/* pasted text may have several lines */
	while ((part = strsep(&rest, "\n")))
		terminal->config.line(
			terminal->config.ctx,
			strlen(part) > SHELL_LINE_MAX ? SHELL_LINE_LONG : SHELL_LINE_TEXT, part);
	free(line);
}

static void on_input(void *ctx, uint32_t what)
{
	struct terminal *terminal = ctx;

	if (terminal->paused)
		return;
	if (what & EPOLLIN)
		rl_callback_read_char();
	else /* it has hung up */
		take_line(NULL);
	if (terminal->complete)
		hand_over(terminal);
}

static void on_resize(void *ctx, uint32_t what)
{
	const struct terminal *terminal = ctx;

	(void)what;
	if (!terminal->paused)
		rl_resize_terminal();
}

static void terminal_pause(struct shell_input *input)
{
	struct terminal *terminal = terminal_of(input);

	if (terminal->paused)
		return;
	terminal->paused = true;
	rl_callback_handler_remove();
	loop_remove(terminal->config.loop, terminal->watch);
	terminal->watch = NULL;
}

static void terminal_resume(struct shell_input *input)
{
	struct terminal *terminal = terminal_of(input);

	if (!terminal->paused)
		return;
	if (loop_add_fd(terminal->config.loop, STDIN_FILENO, EPOLLIN, on_input, terminal,
			&terminal->watch)) {
		terminal->config.end(terminal->config.ctx);
		return;
	}
	terminal->paused = false;
	rl_callback_handler_install(terminal->config.prompt, take_line);
}

static void terminal_cancel(struct shell_input *input)
{
	if (terminal_of(input)->paused)
		return;
	rl_callback_sigcleanup();
	rl_point = rl_end;
	rl_redisplay();
	fputs("^C\n", stdout);
	fflush(stdout);
	rl_replace_line("", 1);
	rl_on_new_line();
	rl_redisplay();
}

static void terminal_hide(struct shell_input *input)
{
	struct terminal *terminal = terminal_of(input);

	if (terminal->paused || terminal->hidden)
		return;
	terminal->hidden = true;
	terminal->saved_point = rl_point;
	terminal->saved = rl_copy_text(0, rl_end);
	rl_save_prompt();
	rl_replace_line("", 0);
	rl_redisplay();
	fputs("\r\033[K", stdout);
	fflush(stdout);
}

static void terminal_show(struct shell_input *input)
{
	struct terminal *terminal = terminal_of(input);

	if (!terminal->hidden)
		return;
	terminal->hidden = false;
	rl_restore_prompt();
	rl_replace_line(terminal->saved ? terminal->saved : "", 0);
	rl_point = terminal->saved ? terminal->saved_point : 0;
	free(terminal->saved);
	terminal->saved = NULL;
	rl_on_new_line();
	rl_redisplay();
}

static void terminal_close(struct shell_input *input)
{
	struct terminal *terminal = terminal_of(input);

	if (!terminal)
		return;
	terminal_pause(input);
	history_save(terminal);
	clear_history();
	loop_remove(terminal->config.loop, terminal->resized);
	free(completion.before);
	completion = (struct completion){0};
	free(terminal->history);
	free(terminal->saved);
	free(terminal);
	only = NULL;
}

static const struct shell_input_ops terminal_ops;

static int terminal_open(struct shell_input **ret_input, const struct shell_input_config *config)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));
	int code;

	if (!terminal)
		return -ENOMEM;
	terminal->input.ops = &terminal_ops;
	terminal->config = *config;
	terminal->paused = true;
	code = loop_add_signal(config->loop, SIGWINCH, on_resize, terminal, &terminal->resized);
	if (code) {
		free(terminal);
		return code;
	}
	only = terminal;
	rl_readline_name = "mtrace-bpf";
	rl_catch_signals = 0;
	rl_catch_sigwinch = 0;
	rl_attempted_completion_function = complete_word;
	rl_basic_word_break_characters = " \t\n\"'|>";
	history_load(terminal);
	*ret_input = &terminal->input;
	return 0;
}

static const struct shell_input_ops terminal_ops = {
	.open = terminal_open,
	.pause = terminal_pause,
	.resume = terminal_resume,
	.cancel = terminal_cancel,
	.hide = terminal_hide,
	.show = terminal_show,
	.close = terminal_close,
};

const struct shell_input_ops *input_terminal(void)
{
	return &terminal_ops;
}
