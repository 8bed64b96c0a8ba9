/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sandbox: the exit status of a child in it says what it can still do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parser/server/sandbox.h"

enum { ALLOWED, REFUSED, FAILED };

static int outcome(bool done)
{
	return done ? ALLOWED : errno == EPERM || errno == ENOMEM ? REFUSED : FAILED;
}

static int try_read(int fd)
{
	char byte;

	return outcome(pread(fd, &byte, 1, 0) == 1);
}

static int try_open(int fd)
{
	(void)fd;
	return outcome(open("/etc/passwd", O_RDONLY) >= 0);
}

static int try_execute_memory(int fd)
{
	(void)fd;
	return outcome(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0) != MAP_FAILED);
}

static int try_much_memory(int fd)
{
	(void)fd;
	return outcome(mmap(NULL, 1ULL << 36, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
}

static int try_memory(int fd)
{
	(void)fd;
	return outcome(mmap(NULL, 1 << 26, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0) != MAP_FAILED);
}

static int try_privileges(int fd)
{
	(void)fd;
	return outcome(prctl(PR_SET_DUMPABLE, 1) == 0);
}

static int try_socket(int fd)
{
	(void)fd;
	return outcome(socket(AF_INET, SOCK_STREAM, 0) >= 0);
}

static int try_fork(int fd)
{
	(void)fd;
	return outcome(fork() >= 0);
}

static int try_exec(int fd)
{
	char *const arguments[] = {"true", NULL};

	(void)fd;
	execv("/bin/true", arguments);
	return outcome(false);
}

static int try_kill(int fd)
{
	(void)fd;
	return outcome(kill(getppid(), 0) == 0);
}

static int try_ptrace(int fd)
{
	(void)fd;
	return outcome(syscall(SYS_ptrace, 0, 0, 0, 0) == 0);
}

static int try_abort(int fd)
{
	(void)fd;
	abort();
}

static int confined(int (*attempt)(int fd), int fd)
{
	struct error err;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(sandbox_leave(&err) || sandbox_confine(&err) ? 99 : attempt(fd));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_data(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(confined(try_read, fd), W_EXITCODE(ALLOWED, 0));
	assert_int_equal(confined(try_memory, fd), W_EXITCODE(ALLOWED, 0));
#ifndef __SANITIZE_ADDRESS__ /* needs more memory than any limit */
	assert_int_equal(confined(try_much_memory, fd), W_EXITCODE(REFUSED, 0));
#else
	(void)try_much_memory;
#endif
	close(fd);
}

static void test_refused(void **state)
{
	int (*const refused[])(int) = {try_open, try_execute_memory, try_privileges};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(confined(refused[i], -1), W_EXITCODE(REFUSED, 0));
}

static void test_forbidden_calls_kill(void **state)
{
	int (*const deadly[])(int) = {try_socket, try_fork, try_exec, try_kill, try_ptrace};

	(void)state;
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		assert_int_equal(WTERMSIG(confined(deadly[i], -1)), SIGSYS);
	assert_int_equal(WTERMSIG(confined(try_abort, -1)), SIGABRT);
}

/* Reads the status file that was opened before. */
static int show_status(int fd)
{
	char text[4096];
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);

	if (size <= 0)
		return FAILED;
	text[size] = '\0';
	return strstr(text, "CapEff:\t0000000000000000") &&
			       strstr(text, "CapPrm:\t0000000000000000") &&
			       strstr(text, "NoNewPrivs:\t1") && strstr(text, "Seccomp:\t2") &&
			       !strstr(text, "Uid:\t0")
		       ? ALLOWED
		       : FAILED;
}

static int show_own_status(int fd)
{
	struct error err;

	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || sandbox_leave(&err) || sandbox_confine(&err))
		return FAILED;
	return show_status(fd);
}

static void test_status(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(show_own_status(-1));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, W_EXITCODE(ALLOWED, 0));
}

/* Limits that are already lower stay as they are. */
static int confine_limited(void)
{
	const struct rlimit few = {64, 64};
	struct rlimit limits;
	struct error err;

	if (setrlimit(RLIMIT_NOFILE, &few) || sandbox_leave(&err) ||
	    getrlimit(RLIMIT_NOFILE, &limits) || sandbox_confine(&err))
		return FAILED;
	return limits.rlim_max == 64 ? ALLOWED : FAILED;
}

static void test_lower_limits(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(confine_limited());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, W_EXITCODE(ALLOWED, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_forbidden_calls_kill),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_lower_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
