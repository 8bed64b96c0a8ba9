// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/shell/shell.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/shell/arguments.h"
#include "app/shell/commands.h"
#include "app/shell/state.h"
#include "app/terminal/input_readline.h"
#include "base/log.h"
#include "os/process/proc.h"
#include "report/common/amount.h"
#include "report/common/glyph.h"
#include "report/common/process.h"

#define PROMPT "(mtrace) "

/* ---- lines ---- */

static void fail(struct shell *shell, const struct error *err)
{
	if (shell->terminal) {
		fflush(stdout);
		fprintf(stderr, "%s\n", err->text);
		return;
	}
	shell->failures++;
	log_error("line %u: %s", shell->line, err->text);
}

static void run_text(struct shell *shell, const char *line)
{
	struct error err = {.text = ""};

	shell->busy = true;
	shell->interrupted = false;
	shell->input->ops->pause(shell->input);
	err.code = shell_run_line(shell, line, &err);
	fflush(stdout);
	if (err.code)
		fail(shell, &err);
	shell->busy = false;
}

static void finish(struct shell *shell)
{
	shell->ended = true;
	shell->config.quit(shell->config.ctx);
}

static void on_line(void *ctx, enum shell_line kind, const char *line)
{
	struct shell *shell = ctx;
	struct error err;

	if (shell->ended || shell->config.over(shell->config.ctx))
		return;
	shell->line++;
	if (kind == SHELL_LINE_TEXT) {
		run_text(shell, line);
	} else {
		error_set(&err, -EINVAL, "%s",
			  kind == SHELL_LINE_LONG ? "the line is too long"
						  : "the line is not text");
		shell->input->ops->pause(shell->input);
		fail(shell, &err);
	}
	if (shell->interrupted && !shell->terminal)
		finish(shell);
	if (shell->ended || shell->config.over(shell->config.ctx))
		return;
	shell_drained(shell);
	shell->input->ops->resume(shell->input);
}

static void on_end(void *ctx)
{
	struct shell *shell = ctx;

	if (shell->ended)
		return;
	shell->input->ops->pause(shell->input);
	finish(shell);
}

/* ---- events between commands ---- */

/* Prints a line about an event between commands. */
__attribute__((format(printf, 2, 3))) static void notice(struct shell *shell, const char *format,
							 ...)
{
	va_list args;

	if (shell->busy && shell->output.stream && !shell->output.direct)
		fflush(shell->output.stream);
	if (!shell->busy)
		shell->input->ops->hide(shell->input);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	if (!shell->busy)
		shell->input->ops->show(shell->input);
}

static bool is_noted(const struct shell *shell, uint32_t pid)
{
	const struct shell_process *process;

	vec_each (process, &shell->processes)
		if (process->pid == pid)
			return true;
	return false;
}

/*
 * Notes the processes present at the start. Children are not announced, because there may be many.
 */
static int note_processes(struct shell *shell, const struct snapshot *snapshot)
{
	int code = 0;

	for (size_t i = 0; i < snapshot->process_count && !code; i++) {
		uint32_t pid = snapshot->processes[i].pid;

		if (!is_noted(shell, pid))
			code = vec_push(&shell->processes, (struct shell_process){.pid = pid});
	}
	return code;
}

static const struct snapshot_process *find_last(const struct snapshot *snapshot, uint32_t pid)
{
	for (size_t i = snapshot->process_count; i; i--)
		if (snapshot->processes[i - 1].pid == pid)
			return &snapshot->processes[i - 1];
	return NULL;
}

static void print_end(struct shell *shell, struct shell_process *process,
		      const struct snapshot *snapshot)
{
	const struct snapshot_process *section = find_last(snapshot, process->pid);
	char text[AMOUNT_SIZE], *name;

	if (!section || !(section->exited || section->left))
		return;
	process->exit_reported = true;
	name = text_clean(process_name(section), terminal_utf8());
	notice(shell, "%s (%u) %s", name ? name : "?", section->pid, fate_of(section, text));
	free(name);
}

static void report_exits(struct shell *shell)
{
	struct shell_process *process;
	struct snapshot *snapshot;
	struct error err;

	if (session_snapshot(shell->config.session, &snapshot, &err))
		return;
	/* a launched program is not in the model before it is executed */
	if (!shell->processes.count && note_processes(shell, snapshot))
		log_debug("out of memory");
	vec_each (process, &shell->processes)
		if (!process->exit_reported)
			print_end(shell, process, snapshot);
	snapshot_free(snapshot);
}

void shell_drained(struct shell *shell)
{
	uint32_t live = session_live(shell->config.session);

	if (shell->busy || live == shell->live)
		return;
	if ((live < shell->live || !shell->processes.count) && !shell->options->system)
		report_exits(shell);
	if (!live && !shell->end_reported && !shell->options->system) {
		notice(shell, "no process is left to trace: dump shows the report, "
			      "quit exits");
		shell->end_reported = true;
	}
	shell->live = live;
}

void shell_interrupt(struct shell *shell)
{
	shell->interrupted = true;
	if (shell->busy)
		return;
	if (shell->terminal)
		shell->input->ops->cancel(shell->input);
	else
		on_end(shell);
}

/* Keeps log messages from breaking the line being typed. */
static void around_log(void *ctx, bool before)
{
	struct shell *shell = ctx;

	if (shell->busy)
		return;
	if (before)
		shell->input->ops->hide(shell->input);
	else
		shell->input->ops->show(shell->input);
}

unsigned int shell_failures(const struct shell *shell)
{
	return shell->failures;
}

/* ---- start and end ---- */

static void settings_begin(struct shell *shell)
{
	const struct options *options = shell->options;

	shell->settings = (struct shell_settings){
		.sort = options->sort,
		.top = options->top,
		.long_frames = options->long_frames,
		.interval_ns = SHELL_INTERVAL_NS,
		.scan_stop = options->scan_mode == SCAN_MODE_STOP,
	};
}

static char *on_complete(void *ctx, const char *line, const char *word, size_t index,
			 bool *ret_files)
{
	return shell_complete(ctx, line, word, index, ret_files);
}

static int input_open(struct shell *shell)
{
	const struct shell_input_config config = {
		.loop = shell->config.loop,
		.prompt = isatty(STDIN_FILENO) ? PROMPT : "",
		.line = on_line,
		.end = on_end,
		.complete = on_complete,
		.ctx = shell,
	};
	const struct shell_input_ops *ops = shell->terminal ? input_terminal() : &input_plain;

	return ops->open(&shell->input, &config);
}

int shell_open(struct shell **ret_shell, const struct shell_config *config, struct error *err)
{
	struct shell *shell = calloc(1, sizeof(*shell));
	int code;

	if (!shell)
		return error_set(err, -ENOMEM, "out of memory");
	shell->config = *config;
	shell->options = config->session->report.options;
	shell->terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	shell->started_ns = clock_now_ns();
	settings_begin(shell);
	code = input_open(shell);
	if (code) {
		shell_close(shell);
		return error_set_errno(err, code, "cannot start the shell");
	}
	/* stopping us would stop draining events, and they would be dropped */
	signal(SIGTSTP, SIG_IGN);
	shell->live = UINT32_MAX;
	log_set_around(around_log, shell);
	session_drain(config->session);
	shell_drained(shell);
	shell->input->ops->resume(shell->input);
	*ret_shell = shell;
	return 0;
}

void shell_close(struct shell *shell)
{
	if (!shell)
		return;
	log_set_around(NULL, NULL);
	if (shell->input)
		shell->input->ops->close(shell->input);
	shell_marks_forget(shell);
	shell_candidates_free(&shell->candidates);
	vec_free(&shell->processes);
	free(shell);
}
