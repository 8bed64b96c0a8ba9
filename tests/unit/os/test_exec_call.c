/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which program a process in execve is about to run. ptrace stops children of ours there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/exec/call.h"

static char *const environment[] = {"LD_PRELOAD=one.so two.so", "HOME=/", "LD_DEBUG=all",
				    "LD_LIBRARY_PATH=/some/where", NULL};

static void run_child(void (*execute)(void))
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	execute();
	_exit(1);
}

static void wait_stop(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
}

/* A child that is stopped at the entry of execve or execveat. */
static pid_t child_in_exec(void (*execute)(void))
{
	struct user_regs_struct registers;
	pid_t pid = fork();

	if (!pid)
		run_child(execute);
	wait_stop(pid);
	do {
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		wait_stop(pid);
		assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &registers), 0);
	} while (registers.orig_rax != SYS_execve && registers.orig_rax != SYS_execveat);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void execute_relative(void)
{
	static char *const arguments[] = {"true", NULL};

	if (chdir("/bin"))
		_exit(1);
	execve("./true", arguments, environment);
}

static void test_path_and_variables(void **state)
{
	pid_t pid = child_in_exec(execute_relative);
	struct exec_call call;

	(void)state;
	assert_int_equal(exec_call_read(pid, &call), 0);
	assert_string_equal(call.path, "./true");
	assert_string_equal(call.environment[0], environment[0]);
	assert_string_equal(call.environment[1], environment[3]);
	assert_null(call.environment[2]);
	exec_call_free(&call);
	end(pid);
}

static bool has_ending(const char *text, const char *ending)
{
	size_t length = strlen(text);

	return length >= strlen(ending) && !strcmp(text + length - strlen(ending), ending);
}

/* Paths are resolved relative to the process, not to us. */
static void test_needed_files_are_opened(void **state)
{
	pid_t pid = child_in_exec(execute_relative);
	struct exec_files files = {0};
	struct exec_call call;
	bool libc = false;

	(void)state;
	assert_int_equal(exec_call_read(pid, &call), 0);
	assert_int_equal(exec_call_open_files(pid, &call, NULL, &files), 0);
	assert_true(has_ending(files.items[0].path, "/bin/true"));
	for (size_t i = 0; i < files.count; i++) {
		libc |= has_ending(files.items[i].path, "/libc.so.6");
		assert_true(files.items[i].fd >= 0);
	}
	assert_true(libc);
	exec_files_free(&files);
	exec_call_free(&call);
	end(pid);
}

#define USER 12345

static char secret[64];

static void execute_preloaded(void)
{
	static char preload[128];
	static char *const arguments[] = {"true", NULL};
	static char *const preloaded[] = {preload, NULL};

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", secret);
	if (setgid(USER) || setuid(USER))
		_exit(1);
	execve("/bin/true", arguments, preloaded);
}

static bool opens_secret(void)
{
	pid_t pid = child_in_exec(execute_preloaded);
	struct exec_files files = {0};
	struct exec_call call;
	bool found = false;

	assert_int_equal(exec_call_read(pid, &call), 0);
	assert_int_equal(exec_call_open_files(pid, &call, NULL, &files), 0);
	assert_true(files.count >= 2);
	for (size_t i = 0; i < files.count; i++)
		found |= !strcmp(files.items[i].path, secret);
	exec_files_free(&files);
	exec_call_free(&call);
	end(pid);
	return found;
}

/* A library that the process names but cannot read is not opened for it. */
static void test_needed_files_are_opened_with_the_rights_of_the_process(void **state)
{
	char command[128];

	(void)state;
	if (geteuid())
		skip();
	strcpy(secret, "/tmp/mtrace-unit-XXXXXX");
	close(mkstemp(secret));
	snprintf(command, sizeof(command), "gcc -shared -fPIC -x c -o %s /dev/null", secret);
	assert_int_equal(system(command), 0);
	assert_int_equal(chmod(secret, 0644), 0);
	assert_true(opens_secret());
	assert_int_equal(chmod(secret, 0600), 0);
	assert_false(opens_secret());
	assert_int_equal(unlink(secret), 0);
	assert_int_equal(access("/proc/1/environ", R_OK), 0); /* our own rights are as before */
}

static void execute_descriptor(void)
{
	static char *const arguments[] = {"true", NULL};

	syscall(SYS_execveat, open("/bin/true", O_RDONLY), "", arguments, environment,
		AT_EMPTY_PATH);
}

static void test_descriptor_has_no_path(void **state)
{
	pid_t pid = child_in_exec(execute_descriptor);
	struct exec_call call;

	(void)state;
	assert_int_equal(exec_call_read(pid, &call), 0);
	assert_string_equal(call.path, "");
	assert_string_equal(call.environment[0], environment[0]);
	exec_call_free(&call);
	end(pid);
}

static void execute_nonsense(void)
{
	syscall(SYS_execve, 1, 2, 3);
}

static void test_nonsense(void **state)
{
	pid_t pid = child_in_exec(execute_nonsense);
	struct exec_call call;

	(void)state;
	assert_int_equal(exec_call_read(pid, &call), 0);
	assert_string_equal(call.path, "");
	assert_null(call.environment[0]);
	exec_call_free(&call);
	end(pid);
}

static void test_others(void **state)
{
	struct exec_call call;

	(void)state;
	assert_int_equal(exec_call_read(getpid(), &call), -ENOENT);
	assert_int_equal(exec_call_read(0x7fffffff, &call), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path_and_variables),
		cmocka_unit_test(test_needed_files_are_opened),
		cmocka_unit_test(test_needed_files_are_opened_with_the_rights_of_the_process),
		cmocka_unit_test(test_descriptor_has_no_path),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
