/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/file/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define CHECKED_MAX 128

bool descriptors_missing(int code)
{
	return code == -EMFILE || code == -ENFILE;
}

bool descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

/* Each one is a file of its own: copies of a descriptor would not reach the system's limit. */
static int open_one(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	if (fd < 0 && errno == EMFILE && descriptors_raise())
		fd = open("/", O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int descriptors_check(unsigned int count, struct error *err)
{
	int fds[CHECKED_MAX], code = 0;
	unsigned int opened = 0;

	while (!code && opened < count && opened < CHECKED_MAX) {
		int fd = open_one();

		if (fd < 0)
			code = fd;
		else
			fds[opened++] = fd;
	}
	while (opened)
		close(fds[--opened]);
	return descriptors_missing(code) ? descriptors_explain(code, err) : 0;
}

int descriptors_explain(int code, struct error *err)
{
	return error_set(err, code, "too many open files: raise %s",
			 code == -EMFILE ? "ulimit -n" : "sysctl fs.file-max");
}
