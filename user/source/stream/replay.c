// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/stream/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "os/process/proc.h"
#include "symbol/elf/module_table.h"
#define PIECE_SIZE (256u << 10)

int replay_start_model(struct replay *replay, const struct model_config *config)
{
	replay->model_config = *config;
	replay->model_config.lists_blocks = replay->lists_blocks;
	return model_new(&replay->model, &replay->model_config);
}

int replay_event(struct replay *replay, const struct event *event)
{
	if (!replay->first_pid && event->kind == EVENT_PROCESS)
		replay->first_pid = event->pid;
	return model_event(replay->model, event);
}

int replay_open(struct replay *replay, const struct replay_config *config, struct error *err)
{
	struct parser_config parser = {.debuginfod = config->debuginfod};
	int code;

	*replay = (struct replay){.name = config->name, .lists_blocks = config->lists_blocks};
	code = parser_start(&replay->parser, &parser);
	if (!code)
		code = module_table_new(&replay->modules);
	if (code)
		return error_set_errno(err, code, "cannot start the replay");
	module_table_set_reader(replay->modules,
				(struct module_reader){parser_read_module, replay->parser});
	replay->finder = (struct finder){
		.modules = replay->modules,
		.parser = replay->parser,
		.sysroot = config->sysroot,
		.binpaths = config->binpaths,
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

/* Reads until the buffer is full or the file ends. Returns the number of bytes, or -errno. */
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
		return error_set(
			err, -EBADMSG,
			"it is neither an mtrace-bpf recording nor a glibc MALLOC_TRACE log");
	code = reader->open(&state, replay);
	if (code)
		return error_set(err, code, "%s", strerror(-code));
	code = read_pieces(reader, state, fd, piece, got, err);
	reader->close(state);
	return code;
}

int replay_read(struct replay *replay, struct error *err)
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
