// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/replay/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "base/log.h"
#include "os/process/proc.h"
#include "symbol/elf/module_table.h"

#define PIECE_SIZE (256u << 10)

int replay_books(struct replay *replay, const struct model_config *config)
{
	replay->books = *config;
	replay->books.lists_blocks = report_wants_blocks(replay->options);
	return model_new(&replay->model, &replay->books);
}

int replay_event(struct replay *replay, const struct event *event)
{
	if (!replay->first_pid && event->kind == EVENT_PROCESS)
		replay->first_pid = event->pid;
	return model_event(replay->model, event);
}

int replay_open(struct replay *replay, const struct options *options, const char *name,
		struct error *err)
{
	struct parser_config parser = {.debuginfod = options->debuginfod};
	int code;

	*replay = (struct replay){.options = options, .name = name};
	code = parser_start(&replay->parser, &parser);
	if (!code)
		code = module_table_new(&replay->modules);
	if (code)
		return error_set_errno(err, code, "no books");
	module_table_set_reader(replay->modules,
				(struct module_reader){parser_read_module, replay->parser});
	replay->finder = (struct finder){
		.modules = replay->modules,
		.parser = replay->parser,
		.sysroot = options->sysroot,
		.binpaths = options->binpaths.items,
	};
	replay->report = (struct report){
		.options = options,
		.modules = replay->modules,
		.parser = replay->parser,
		.backend = "replay",
		.standard_fd = STDOUT_FILENO,
		.number = 1,
	};
	return parser_check(replay->parser, err);
}

void replay_close(struct replay *replay)
{
	model_free(replay->model);
	module_table_free(replay->modules);
	parser_stop(replay->parser);
}

static int file_open(const char *path, int *ret_fd)
{
	struct stat status;
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &status) && S_ISDIR(status.st_mode)) {
		close(fd);
		return -EISDIR;
	}
	*ret_fd = fd;
	return 0;
}

/* As many bytes as there is room for, but for the end: how many, or -errno. */
static ssize_t fill(int fd, char *piece, size_t room)
{
	size_t got = 0;

	while (got < room) {
		ssize_t part = read(fd, piece + got, room - got);

		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0)
			return -errno;
		if (!part)
			break;
		got += (size_t)part;
	}
	return (ssize_t)got;
}

static const struct replay_reader *const readers[] = {&replay_stream, &replay_log};

static const struct replay_reader *reader_of(const char *bytes, size_t size)
{
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i]->is_one(bytes, size))
			return readers[i];
	return NULL;
}

static int read_pieces(const struct replay_reader *reader, void *state, int fd, char *piece,
		       ssize_t got, struct error *err)
{
	int code = 0;

	while (!code && got > 0) {
		code = reader->read(state, piece, (size_t)got, err);
		if (!code)
			got = fill(fd, piece, PIECE_SIZE);
	}
	if (!code && got < 0)
		code = error_set(err, (int)got, "%s", strerror((int)-got));
	return code ? code : reader->finish(state, err);
}

static int read_file(struct replay *replay, int fd, char *piece, struct error *err)
{
	const struct replay_reader *reader;
	ssize_t got = fill(fd, piece, PIECE_SIZE);
	void *state = NULL;
	int code;

	if (got < 0)
		return error_set(err, (int)got, "%s", strerror((int)-got));
	if (!got)
		return error_set(err, -ENODATA, "it is empty");
	reader = reader_of(piece, (size_t)got);
	if (!reader)
		return error_set(err, -EBADMSG,
				 "it is neither a recording of mtrace-bpf nor a log of glibc's "
				 "MALLOC_TRACE");
	code = reader->open(&state, replay);
	if (code)
		return error_set(err, code, "%s", strerror(-code));
	code = read_pieces(reader, state, fd, piece, got, err);
	reader->close(state);
	return code;
}

static int replay_read(struct replay *replay, struct error *err)
{
	char *piece = malloc(PIECE_SIZE);
	struct error reason;
	int fd = -1, code;

	if (!piece)
		return error_set(err, -ENOMEM, "out of memory");
	code = file_open(replay->name, &fd);
	if (code) {
		error_set_errno(err, code, "cannot read %s", replay->name);
	} else {
		code = read_file(replay, fd, piece, &reason);
		if (code)
			error_set(err, code, "cannot read %s: %s", replay->name, reason.text);
		close(fd);
	}
	free(piece);
	return code;
}

static void snapshot_date(const struct replay *replay, struct snapshot *snapshot)
{
	if (replay->taken_at_ms) {
		snapshot->taken_at = (int64_t)(replay->taken_at_ms / 1000);
		snapshot->taken_at_ms = (uint32_t)(replay->taken_at_ms % 1000);
	}
	if (replay->incomplete[0])
		snapshot->incomplete = replay->incomplete;
}

/* The exit status: what is not all there comes before what was found in it. */
static int replay_status(const struct replay *replay, const struct snapshot *snapshot)
{
	int wanted = replay->options->error_exitcode;

	if (replay->incomplete[0])
		return EXIT_CANNOT;
	return wanted && (report_definite(snapshot) || report_errors(snapshot)) ? wanted
										: EXIT_DONE;
}

static int replay_report(struct replay *replay)
{
	struct snapshot *snapshot;
	struct error err;
	int status;

	replay->report.pid = (pid_t)replay->first_pid;
	if (model_snapshot(replay->model, replay->taken_ns, &snapshot)) {
		log_error("cannot make the report: %s", strerror(ENOMEM));
		return EXIT_CANNOT;
	}
	snapshot->tool.resident_bytes = own_resident_bytes();
	snapshot_date(replay, snapshot);
	if (report_write(&replay->report, snapshot, &err)) {
		log_error("%s", err.text);
		status = EXIT_CANNOT;
	} else {
		status = replay_status(replay, snapshot);
	}
	snapshot_free(snapshot);
	return status;
}

static int replay_run(struct replay *replay, const struct options *options)
{
	struct error err;

	if (replay_open(replay, options, options->program[0], &err) ||
	    report_check(&replay->report, &err) || replay_read(replay, &err)) {
		log_error("%s", err.text);
		return EXIT_CANNOT;
	}
	if (replay->incomplete[0])
		log_warn("%s: %s", replay->name, replay->incomplete);
	return replay_report(replay);
}

/* What is wrong with the command line, or NULL. */
static const char *misuse(const struct options *options)
{
	if (!options->program)
		return "needs the file to report from";
	if (options->program[1])
		return "takes one file";
	return options->record ? "does not record" : NULL;
}

int command_report(const struct options *options)
{
	const char *wrong = misuse(options);
	struct replay replay;
	int status;

	if (command_takes_no_net(options))
		return EXIT_USAGE;
	if (wrong || options_of_live(options)) {
		if (wrong)
			log_error("report %s; see mtrace-bpf --help", wrong);
		else
			log_error("--%s is for tracing, not for report; see mtrace-bpf --help",
				  options_of_live(options));
		return EXIT_USAGE;
	}
	status = replay_run(&replay, options);
	replay_close(&replay);
	return status;
}
