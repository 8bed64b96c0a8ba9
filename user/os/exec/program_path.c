/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/exec/program_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_DEFAULT "/bin:/usr/bin" /* execvp's default if PATH is not set */

/* Checks if execve would accept the file. A relative path starts at `directory`. Returns 0 or
 * -errno. */
static int check_executable(int directory, const char *path)
{
	struct stat stat;

	if (fstatat(directory, path, &stat, 0))
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -EACCES;
	return faccessat(directory, path, X_OK, AT_EACCESS) ? -errno : 0;
}

/* An empty element of PATH means the current directory. */
static char *path_join(const char *element, size_t length, const char *name)
{
	char *path;

	if (asprintf(&path, "%.*s%s%s", (int)length, element, length ? "/" : "", name) < 0)
		return NULL;
	return path;
}

/* Errors after which execvp tries the next directory. */
static bool error_lets_go_on(int err)
{
	static const int errors[] = {-EACCES, -ENOENT, -ENOTDIR, -ESTALE, -ENODEV, -ETIMEDOUT};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (err == errors[i])
			return true;
	return false;
}

/* Like execvp, fails with -EACCES if it found only files that cannot be executed. */
static int search_path(int directory, const char *name, char **ret_path)
{
	const char *element = getenv("PATH");
	int result = -ENOENT;

	if (!element)
		element = PATH_DEFAULT;
	for (;;) {
		size_t length = strcspn(element, ":");
		char *path = path_join(element, length, name);
		int err = path ? check_executable(directory, path) : -ENOMEM;

		if (!err) {
			*ret_path = path;
			return 0;
		}
		free(path);
		if (!error_lets_go_on(err))
			return err;
		if (err == -EACCES)
			result = err;
		if (!element[length])
			return result;
		element += length + 1;
	}
}

static int find_in(int directory, const char *name, char **ret_path)
{
	int err;

	if (!*name)
		return -ENOENT;
	if (!strchr(name, '/'))
		return search_path(directory, name, ret_path);
	err = check_executable(directory, name);
	if (err)
		return err;
	*ret_path = strdup(name);
	return *ret_path ? 0 : -ENOMEM;
}

int program_find(const char *name, const char *directory, char **ret_path)
{
	int fd;
	int err;

	if (!directory)
		return find_in(AT_FDCWD, name, ret_path);
	fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = find_in(fd, name, ret_path);
	close(fd);
	return err;
}

int program_absolute(const char *path, const char *directory, char **ret_path)
{
	char *base = path[0] == '/' ? strdup("") : realpath(directory ? directory : ".", NULL);
	int length;

	if (!base)
		return -errno;
	length = asprintf(ret_path, "%s%s%s", base, path[0] == '/' ? "" : "/", path);
	free(base);
	return length < 0 ? -ENOMEM : 0;
}
