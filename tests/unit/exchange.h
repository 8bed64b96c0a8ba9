/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another user who exchanges a file for a symbolic link, as fast as possible (renameat2(2)). */
#ifndef MTRACE_TESTS_EXCHANGE_H
#define MTRACE_TESTS_EXCHANGE_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Both names are in the directory. Call exchange_stop() with the result. Needs root. */
static inline pid_t exchange_start(uid_t user, const char *directory, const char *file,
				   const char *link)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	if (setgid(user) || setuid(user) || chdir(directory))
		_exit(1);
	for (;;)
		renameat2(AT_FDCWD, file, AT_FDCWD, link, RENAME_EXCHANGE);
}

static inline void exchange_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#endif
