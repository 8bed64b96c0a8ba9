// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The output of a command. On a terminal it is collected first; if it has more lines than the
 * screen, it goes through a pager. A file appears completely or not at all (app/terminal/output.h).
 */
#include "app/shell/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/shell/wait.h"
#include "base/log.h"

#define CHUNK          65536
#define WIDTH_LEAST    20
#define PAGER          "less"
#define NOT_EXECUTABLE 126 /* from this status on, the shell could not run the pager */

static bool is_collected(const struct shell *shell, const struct shell_output *output)
{
	return output->redirect == REDIRECT_PIPE ||
	       (output->redirect == REDIRECT_NONE && shell->terminal && !output->direct);
}

static int collect(struct shell_output *output)
{
	int fd = memfd_create("mtrace-bpf output", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	output->stream = fdopen(fd, "w+");
	if (output->stream)
		return 0;
	close(fd);
	return -ENOMEM;
}

int shell_output_begin(struct shell *shell, const struct shell_words *words, bool streams,
		       struct error *err)
{
	struct shell_output output = {.redirect = words->redirect,
				      .target = words->target,
				      .direct = streams && words->redirect == REDIRECT_NONE,
				      .fd = words->redirect ? -1 : STDOUT_FILENO};
	int code = 0;

	if (output.redirect == REDIRECT_FILE) {
		code = output_open(&output.file, output.target, OUTPUT_PRIVATE, err);
		if (code)
			return code;
		output.stream = output.file.stream;
	} else if (output.redirect == REDIRECT_APPEND) {
		code = output_append(&output.stream, output.target, err);
		if (code)
			return code;
	} else if (is_collected(shell, &output)) {
		code = collect(&output);
	} else {
		output.stream = stdout;
	}
	if (code)
		return error_set_errno(err, code, "cannot buffer the output");
	shell->output = output;
	return 0;
}

size_t shell_screen_rows(const struct shell *shell)
{
	struct winsize size;

	if (!shell->terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row)
		return 0;
	return size.ws_row;
}

static size_t width_of(const struct shell *shell)
{
	struct winsize size;

	if (shell->output.fd < 0 || ioctl(shell->output.fd, TIOCGWINSZ, &size) || !size.ws_col)
		return terminal_width(-1);
	return size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col;
}

struct page shell_page(const struct shell *shell)
{
	size_t width = width_of(shell);

	return (struct page){
		.out = {.file = shell->output.stream},
		.width = width,
		.limit = width,
		.color = shell->output.fd >= 0 &&
			 terminal_color(shell->options->color, shell->output.fd),
		.utf8 = terminal_utf8(),
	};
}

void shell_print(struct shell *shell, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(shell->output.stream, format, args);
	va_end(args);
	fputc('\n', shell->output.stream);
	if (shell->output.direct)
		fflush(shell->output.stream);
}

/* ---- the end ---- */

/* Counts lines on the screen. A line wider than the screen counts once for each row it takes. */
static size_t count_lines(FILE *stream, size_t width)
{
	size_t lines = 0, column = 0;
	bool escape = false;
	int byte;

	rewind(stream);
	while ((byte = getc(stream)) != EOF) {
		if (byte == '\n') {
			lines += 1 + (column ? (column - 1) / width : 0);
			column = 0;
		} else if (byte == '\033') {
			escape = true;
		} else if (escape) {
			escape = byte != 'm';
		} else if ((byte & 0xc0) != 0x80) {
			column++;
		}
	}
	fseek(stream, 0, SEEK_END);
	return lines;
}

bool shell_output_is_long(const struct shell *shell)
{
	size_t rows = shell_screen_rows(shell);

	return rows && shell->output.redirect == REDIRECT_NONE && !shell->output.direct &&
	       count_lines(shell->output.stream, width_of(shell)) + 1 > rows;
}

void shell_output_restart(struct shell *shell)
{
	fflush(shell->output.stream);
	rewind(shell->output.stream);
	if (ftruncate(fileno(shell->output.stream), 0))
		log_debug("cannot clear the output: %s", strerror(errno));
}

static int copy_out(FILE *stream)
{
	char *chunk = malloc(CHUNK);
	size_t got;

	if (!chunk)
		return -ENOMEM;
	rewind(stream);
	while ((got = fread(chunk, 1, CHUNK, stream)) > 0)
		if (fwrite(chunk, 1, got, stdout) != got)
			break;
	free(chunk);
	return fflush(stdout) || ferror(stdout) ? -(errno ? errno : EIO) : 0;
}

static const char *pager(void)
{
	const char *wanted = getenv("PAGER");

	/* like git: quit if it fits on the screen, keep colours, do not clear the screen */
	setenv("LESS", "FRX", 0);
	return wanted ? wanted : PAGER;
}

static int show(struct shell *shell, struct shell_output *output, struct error *err)
{
	const char *command = output->redirect == REDIRECT_PIPE ? output->target : pager();
	bool piped = output->redirect == REDIRECT_PIPE;
	int status = 0, code;

	if (!piped && (!shell_output_is_long(shell) || !*command))
		return copy_out(output->stream) ? error_set(err, -EIO, "cannot write") : 0;
	lseek(fileno(output->stream), 0, SEEK_SET);
	code = shell_spawn(shell, command, fileno(output->stream), &status);
	if (code)
		return error_set_errno(err, code, "cannot run %s", command);
	if (!piped && WIFEXITED(status) && WEXITSTATUS(status) >= NOT_EXECUTABLE)
		return copy_out(output->stream) ? error_set(err, -EIO, "cannot write") : 0;
	if (piped && !shell->interrupted && WIFEXITED(status) && WEXITSTATUS(status))
		return error_set(err, -EIO, "%s: exit status %d", command, WEXITSTATUS(status));
	return 0;
}

static int close_stream(struct shell_output *output, struct error *err)
{
	bool failed = ferror(output->stream);

	if (!fclose(output->stream) && !failed)
		return 0;
	return error_set_errno(err, errno ? -errno : -EIO, "cannot write %s",
			       output->target ? output->target : "the output");
}

int shell_output_end(struct shell *shell, bool failed, struct error *err)
{
	struct shell_output *output = &shell->output;
	int code = 0;

	if (output->redirect == REDIRECT_FILE && failed) {
		output_abandon(&output->file);
	} else if (output->redirect == REDIRECT_FILE) {
		code = output_commit(&output->file, err);
	} else if (output->redirect == REDIRECT_APPEND) {
		code = close_stream(output, err);
	} else if (output->stream == stdout) {
		if (fflush(stdout) || ferror(stdout))
			code = error_set_errno(err, -errno, "cannot write");
		clearerr(stdout);
	} else {
		fflush(output->stream);
		if (!failed || output->redirect == REDIRECT_NONE)
			code = show(shell, output, err);
		fclose(output->stream);
	}
	*output = (struct shell_output){.fd = -1};
	return code;
}
