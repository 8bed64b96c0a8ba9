/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/terminal/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The temporary name of a report. The pid makes it unique. */
static char *temporary_name(void)
{
	char *name;

	return asprintf(&name, ".mtrace-bpf.%d.tmp", (int)getpid()) < 0 ? NULL : name;
}

static int create_at(int directory, const char *name, int flags, mode_t mode)
{
	int fd = openat(directory, name, flags | O_WRONLY | O_NOCTTY | O_CLOEXEC, mode);

	return fd < 0 ? -errno : fd;
}

/* Keeps the mode of the file that is replaced, if it is ours: another user may have chosen any
 * mode. */
static void inherit_mode(const struct place *place, int fd)
{
	if (place->exists && place->stat.st_uid == geteuid())
		fchmod(fd, place->stat.st_mode & 0777);
}

/* Creates a nameless file, or one with a temporary name if the file system cannot do that. */
static int temporary_create(struct output *output, mode_t mode)
{
	int directory = output->place.directory;
	int fd = create_at(directory, ".", O_TMPFILE, mode);

	output->unnamed = fd >= 0;
	if (fd < 0) {
		unlinkat(directory, output->temporary, 0);
		fd = create_at(directory, output->temporary, O_CREAT | O_EXCL | O_NOFOLLOW, mode);
	}
	if (fd >= 0)
		inherit_mode(&output->place, fd);
	return fd;
}

/* Writes to a regular file in a directory where no other file can be created. */
static int open_in_place(const struct place *place)
{
	int fd = place_open(place, 0, 0);

	if (fd < 0 || !ftruncate(fd, 0))
		return fd;
	close(fd);
	return -errno;
}

/* Returns a descriptor to write to, or -errno. Writes directly to special files. */
static int destination_open(struct output *output, mode_t mode)
{
	int fd;

	if (place_is_special(&output->place))
		return place_open(&output->place, 0, 0);
	output->temporary = temporary_name();
	if (!output->temporary)
		return -ENOMEM;
	fd = temporary_create(output, mode);
	if (fd >= 0 || !output->place.exists)
		return fd;
	free(output->temporary);
	output->temporary = NULL;
	return open_in_place(&output->place);
}

static int stream_open(struct output *output, int fd)
{
	if (fd < 0)
		return fd;
	output->stream = fdopen(fd, "w");
	if (output->stream)
		return 0;
	close(fd);
	return -ENOMEM; /* the only possible failure */
}

static void output_close(struct output *output)
{
	if (output->stream)
		fclose(output->stream);
	free(output->temporary);
	free(output->path);
	place_free(&output->place);
	*output = (struct output){.place.directory = -1};
}

void output_abandon(struct output *output)
{
	if (output->stream && output->temporary && !output->unnamed)
		unlinkat(output->place.directory, output->temporary, 0);
	output_close(output);
}

int output_open(struct output *ret_output, const char *path, mode_t mode, struct error *err)
{
	struct output output = {0};
	int code = place_find(&output.place, path, err);

	if (code)
		return code;
	output.path = strdup(path);
	code = output.path ? stream_open(&output, destination_open(&output, mode)) : -ENOMEM;
	if (code) {
		output_abandon(&output);
		return error_set_errno(err, code, "cannot write %s", path);
	}
	*ret_output = output;
	return 0;
}

/* It is enough that a special file or an old report exists: opening it could have side effects. */
int output_check(const char *path, struct error *err)
{
	struct output output;
	struct place place;
	int code = place_find(&place, path, err);
	bool exists;

	if (code)
		return code;
	exists = place.exists;
	place_free(&place);
	if (exists)
		return 0;
	code = output_open(&output, path, OUTPUT_PRIVATE, err);
	if (!code)
		output_abandon(&output);
	return code;
}

/* Descriptors that were closed at the start are /dev/null now, opened for reading only. */
int output_check_fd(int fd, struct error *err)
{
	int flags = fcntl(fd, F_GETFL);
	const char *name = fd == STDOUT_FILENO ? "standard output" : "standard error";

	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		return 0;
	return error_set_errno(err, -EBADF, "cannot write the report to %s", name);
}

int output_open_fd(struct output *ret_output, int fd, struct error *err)
{
	struct output output = {.place.directory = -1};
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int code = stream_open(&output, copy < 0 ? -errno : copy);

	if (code)
		return error_set_errno(err, code, "cannot write the report");
	*ret_output = output;
	return 0;
}

int output_append(FILE **ret_stream, const char *path, struct error *err)
{
	struct place place;
	int fd, code = place_find(&place, path, err);

	if (code)
		return code;
	fd = place_open(&place, O_APPEND, OUTPUT_PRIVATE);
	place_free(&place);
	if (fd < 0)
		return error_set_errno(err, fd, "cannot write %s", path);
	*ret_stream = fdopen(fd, "a");
	if (*ret_stream)
		return 0;
	close(fd);
	return error_set(err, -ENOMEM, "out of memory");
}

/* Gives the nameless file its temporary name: link(2) cannot replace a file, rename(2) can. */
static int temporary_link(const struct output *output)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(output->stream));
	unlinkat(output->place.directory, output->temporary, 0);
	return linkat(AT_FDCWD, self, output->place.directory, output->temporary, AT_SYMLINK_FOLLOW)
		       ? -errno
		       : 0;
}

/* Syncs the file to disk and gives it its final name. */
static int output_publish(struct output *output)
{
	int code;

	if (fflush(output->stream) || ferror(output->stream))
		return errno ? -errno : -EIO;
	if (!output->temporary)
		return 0;
	if (fsync(fileno(output->stream)))
		return -errno;
	if (output->unnamed) {
		code = temporary_link(output);
		if (code)
			return code;
		output->unnamed = false;
	}
	return renameat(output->place.directory, output->temporary, output->place.directory,
			output->place.name)
		       ? -errno
		       : 0;
}

int output_commit(struct output *output, struct error *err)
{
	int code = output_publish(output);

	if (!code) {
		output_close(output);
		return 0;
	}
	error_set_errno(err, code, "cannot write %s", output->path ? output->path : "the report");
	output_abandon(output);
	return code;
}

char *output_path(const char *pattern, pid_t pid, uint32_t number)
{
	char *path = NULL;
	size_t size;
	FILE *out = open_memstream(&path, &size);

	if (!out)
		return NULL;
	for (; *pattern; pattern++) {
		if (pattern[0] == '%' && pattern[1] == 'p')
			fprintf(out, "%d", (int)pid);
		else if (pattern[0] == '%' && pattern[1] == 'n')
			fprintf(out, "%u", number);
		else
			fputc(*pattern, out);
		pattern += pattern[0] == '%' && pattern[1] && strchr("pn%", pattern[1]);
	}
	if (fclose(out)) {
		free(path);
		return NULL;
	}
	return path;
}
