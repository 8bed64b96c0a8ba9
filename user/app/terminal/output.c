/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/terminal/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE_NEW 0666 /* before the umask */

/* The current state of the path. */
struct output_place {
	char *path; /* with symbolic links resolved if it exists */
	char *directory;
	struct stat stat;
	bool exists;
};

static void place_free(struct output_place *place)
{
	free(place->path);
	free(place->directory);
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int place_find(const char *path, struct output_place *ret_place)
{
	struct output_place place = {0};
	int code = 0;

	place.exists = !stat(path, &place.stat);
	if (!place.exists && errno != ENOENT)
		return -errno;
	place.path = place.exists ? realpath(path, NULL) : strdup(path);
	if (!place.path)
		return -errno;
	place.directory = directory_of(place.path);
	if (!place.directory)
		code = -ENOMEM;
	else if (place.exists && S_ISDIR(place.stat.st_mode))
		code = -EISDIR;
	else if (place.exists && faccessat(AT_FDCWD, place.path, W_OK, AT_EACCESS))
		code = -errno;
	if (code)
		place_free(&place);
	else
		*ret_place = place;
	return code;
}

static bool place_is_special(const struct output_place *place)
{
	return place->exists && !S_ISREG(place->stat.st_mode);
}

/* The temporary name of a report. The pid makes it unique. */
static char *temporary_name(const struct output_place *place)
{
	char *name;

	return asprintf(&name, "%s/.mtrace-bpf.%d.tmp", place->directory, (int)getpid()) < 0 ? NULL
											     : name;
}

/* The new file gets the owner and mode of the old one, if permitted. */
static void place_inherit(const struct output_place *place, int fd)
{
	if (place->exists && !fchown(fd, place->stat.st_uid, place->stat.st_gid))
		fchmod(fd, place->stat.st_mode & 0777);
}

static int file_open(const char *path, int flags)
{
	int fd = open(path, flags | O_WRONLY | O_NOCTTY | O_CLOEXEC, MODE_NEW);

	return fd < 0 ? -errno : fd;
}

/* Creates a nameless file, or one with a temporary name if the file system cannot do that. */
static int temporary_create(const struct output_place *place, struct output *output)
{
	int fd = file_open(place->directory, O_TMPFILE);

	output->unnamed = fd >= 0;
	if (fd < 0) {
		unlink(output->temporary);
		fd = file_open(output->temporary, O_CREAT | O_EXCL | O_NOFOLLOW);
	}
	if (fd >= 0)
		place_inherit(place, fd);
	return fd;
}

/*
 * Returns a descriptor to write to, or -errno. It writes directly to special files, and to a
 * regular file in a directory where no other file can be created.
 */
static int place_open(const struct output_place *place, struct output *output)
{
	int fd;

	if (place_is_special(place))
		return file_open(place->path, 0);
	output->temporary = temporary_name(place);
	if (!output->temporary)
		return -ENOMEM;
	fd = temporary_create(place, output);
	if (fd >= 0 || !place->exists)
		return fd;
	free(output->temporary);
	output->temporary = NULL;
	return file_open(place->path, O_TRUNC);
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
	*output = (struct output){0};
}

void output_abandon(struct output *output)
{
	if (output->stream && output->temporary && !output->unnamed)
		unlink(output->temporary);
	output_close(output);
}

int output_open(struct output *ret_output, const char *path, struct error *err)
{
	struct output output = {0};
	struct output_place place;
	int code = place_find(path, &place);

	if (code)
		return error_set_errno(err, code, "cannot write %s", path);
	code = stream_open(&output, place_open(&place, &output));
	output.path = place.path;
	place.path = NULL;
	place_free(&place);
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
	struct output_place place;
	int code = place_find(path, &place);
	bool exists;

	if (code)
		return error_set_errno(err, code, "cannot write %s", path);
	exists = place.exists;
	place_free(&place);
	if (exists)
		return 0;
	code = output_open(&output, path, err);
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
	struct output output = {0};
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int code = stream_open(&output, copy < 0 ? -errno : copy);

	if (code)
		return error_set_errno(err, code, "cannot write the report");
	*ret_output = output;
	return 0;
}

/* Gives the nameless file its temporary name: link(2) cannot replace a file, rename(2) can. */
static int temporary_link(const struct output *output)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(output->stream));
	unlink(output->temporary);
	return linkat(AT_FDCWD, self, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW) ? -errno : 0;
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
	return rename(output->temporary, output->path) ? -errno : 0;
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
