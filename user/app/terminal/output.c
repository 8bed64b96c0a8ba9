/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/terminal/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE_NEW 0666 /* less the umask */

/* What is there now. */
struct output_place {
	char *path; /* symbolic links followed, if it exists */
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

/* The name through which a report passes on its way: ours alone, as the pid is. */
static char *temporary_name(const struct output_place *place)
{
	char *name;

	return asprintf(&name, "%s/.mtrace-bpf.%d.tmp", place->directory, (int)getpid()) < 0 ? NULL
											     : name;
}

/* The new file keeps owner and mode of the one that it replaces, as far as we may. */
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

/* A file without a name, or where the file system has no such thing, with the temporary one. */
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
 * A descriptor to write to, or -errno. Directly if it has to be: to what is no regular file, or is
 * one in a directory where no other can be made.
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
	return -ENOMEM; /* the only way in which it can fail */
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

/* A special file or an old report that may be written is enough: opening it could do harm. */
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

/* What was closed when we were started is /dev/null now, for reading only. */
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

/* Give the nameless file its temporary name: link(2) cannot replace, rename(2) can. */
static int temporary_link(const struct output *output)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(output->stream));
	unlink(output->temporary);
	return linkat(AT_FDCWD, self, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* All of it on disk, and under its name. */
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
