/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program is held, and then released, abandoned or orphaned; and errors at the start of a
 * program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/exec/launch.h"
#include "os/process/proc.h"
#include "tests/unit/scratch.h"

/* Holds the program of the options. Must succeed. */
static struct launch hold(const struct launch_options *options)
{
	struct launch launch;
	struct error err;
	int status;

	if (launch_hold(options, &launch, &status, &err))
		fail_msg("%s (exit %d)", err.text, status);
	return launch;
}

static void release(struct launch *launch)
{
	struct error err;
	int status;

	launch_release(launch);
	if (launch_confirm(launch, &status, &err))
		fail_msg("%s (exit %d)", err.text, status);
}

/* Returns the wait status of the released program. */
static int wait_for(struct launch *launch)
{
	int status;

	assert_int_equal(waitpid(launch->pid, &status, 0), launch->pid);
	launch_close(launch);
	return status;
}

static int run(const struct launch_options *options)
{
	struct launch launch = hold(options);

	release(&launch);
	return wait_for(&launch);
}

static int run_shell(const char *script)
{
	char *argv[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};
	struct launch_options options = {.argv = argv};

	return run(&options);
}

static void assert_no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static int count_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Must fail, in hold or in release, without leaving a process or descriptor. */
static void check_fails(const struct launch_options *options, int code, int exit_status)
{
	int descriptors = count_descriptors();
	struct launch launch;
	struct error err = {0};
	int status = -1;
	int got = launch_hold(options, &launch, &status, &err);

	if (!got) {
		launch_release(&launch);
		got = launch_confirm(&launch, &status, &err);
		launch_close(&launch);
	}
	assert_int_equal(got, code);
	assert_int_equal(err.code, code);
	assert_int_equal(status, exit_status);
	assert_non_null(strstr(err.text, strerror(-code)));
	assert_no_children();
	assert_int_equal(count_descriptors(), descriptors);
}

static void check_program_fails(const char *program, int code, int exit_status)
{
	char *argv[] = {(char *)(uintptr_t)program, NULL};
	struct launch_options options = {.argv = argv};

	check_fails(&options, code, exit_status);
}

static void test_not_found(void **state)
{
	(void)state;
	check_program_fails("no-such-program-anywhere", -ENOENT, LAUNCH_NOT_FOUND);
	check_program_fails("/no/such/file", -ENOENT, LAUNCH_NOT_FOUND);
	check_program_fails("./no-such-file", -ENOENT, LAUNCH_NOT_FOUND);
	check_program_fails("", -ENOENT, LAUNCH_NOT_FOUND);
	check_program_fails("/etc/passwd/x", -ENOTDIR, LAUNCH_NOT_EXECUTABLE);
}

static void test_not_executable(void **state)
{
	struct scratch *scratch = *state;

	scratch_write(scratch, "plain", "#!/bin/sh\n", 10, 0644);
	check_program_fails(scratch_path(scratch, "plain"), -EACCES, LAUNCH_NOT_EXECUTABLE);
	check_program_fails(scratch->root, -EACCES, LAUNCH_NOT_EXECUTABLE);
	check_program_fails("/", -EACCES, LAUNCH_NOT_EXECUTABLE);
}

static void test_unknown_format(void **state)
{
	struct scratch *scratch = *state;

	scratch_write(scratch, "script", "echo no shebang\n", 16, 0755);
	check_program_fails(scratch_path(scratch, "script"), -ENOEXEC, LAUNCH_NOT_EXECUTABLE);
	scratch_write(scratch, "empty", "", 0, 0755);
	check_program_fails(scratch_path(scratch, "empty"), -ENOEXEC, LAUNCH_NOT_EXECUTABLE);
}

static void test_missing_interpreter(void **state)
{
	struct scratch *scratch = *state;

	scratch_write(scratch, "script", "#!/no/such/shell\n", 17, 0755);
	check_program_fails(scratch_path(scratch, "script"), -ENOENT, LAUNCH_NOT_FOUND);
}

static void test_no_program(void **state)
{
	char *argv[] = {NULL};
	struct launch_options options = {.argv = argv};

	(void)state;
	check_fails(&options, -EINVAL, LAUNCH_NOT_EXECUTABLE);
}

static void test_no_such_directory(void **state)
{
	char *argv[] = {"true", NULL};
	struct launch_options options = {.argv = argv, .directory = "/no/such/directory"};

	(void)state;
	check_fails(&options, -ENOENT, LAUNCH_FAILED);
	options.directory = "/etc/passwd";
	check_fails(&options, -ENOTDIR, LAUNCH_FAILED);
}

static void check_no_user(const char *user)
{
	char *argv[] = {"true", NULL};
	struct launch_options options = {.argv = argv, .user = user};
	struct launch launch;
	struct error err;
	int status;

	assert_int_equal(launch_hold(&options, &launch, &status, &err), -ENOENT);
	assert_int_equal(status, LAUNCH_FAILED);
	assert_non_null(strstr(err.text, user));
}

static void test_no_such_user(void **state)
{
	(void)state;
	check_no_user("no-such-user");
	check_no_user("4294967294");
	check_no_user("-1");
	check_no_user("");
}

static void test_exit_status(void **state)
{
	int status;

	(void)state;
	status = run_shell("exit 42");
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
	status = run_shell("kill -TERM $$");
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	/* The program's own status is not mistaken for ours. */
	assert_int_equal(WEXITSTATUS(run_shell("exit 127")), 127);
	assert_no_children();
}

static void test_held_does_not_run(void **state)
{
	struct scratch *scratch = *state;
	char *argv[] = {"touch", NULL, NULL};
	struct launch_options options = {.argv = argv};
	struct proc_info info;
	struct launch launch;

	argv[1] = (char *)(uintptr_t)scratch_path(scratch, "made");
	launch = hold(&options);
	/* The child sleeps on the channel, or is about to: in both cases it still runs our
	 * image. */
	assert_int_equal(proc_info_read(launch.pid, &info), 0);
	assert_non_null(strstr(info.exe, "test_launch"));
	proc_info_free(&info);
	assert_int_not_equal(access(scratch->path, F_OK), 0);
	release(&launch);
	assert_int_equal(wait_for(&launch), 0);
	assert_int_equal(access(scratch->path, F_OK), 0);
}

/* After release returns, the new image is running. */
static void test_released_has_execed(void **state)
{
	char *argv[] = {"sleep", "60", NULL};
	struct launch_options options = {.argv = argv};
	struct launch launch = hold(&options);
	struct proc_info info;

	(void)state;
	release(&launch);
	assert_int_equal(proc_info_read(launch.pid, &info), 0);
	assert_string_equal(info.comm, "sleep");
	assert_string_equal(info.command[1], "60");
	proc_info_free(&info);
	kill(launch.pid, SIGKILL);
	assert_int_equal(WTERMSIG(wait_for(&launch)), SIGKILL);
}

static void test_abandon(void **state)
{
	char *argv[] = {"touch", NULL, NULL};
	struct launch_options options = {.argv = argv};
	int descriptors = count_descriptors();
	struct launch launch;

	argv[1] = (char *)(uintptr_t)scratch_path(*state, "made");
	launch = hold(&options);
	launch_abandon(&launch);
	assert_no_children();
	assert_int_equal(count_descriptors(), descriptors);
	assert_int_not_equal(access(argv[1], F_OK), 0);
	launch_abandon(&launch);
	launch_close(&launch);
}

static void test_killed_while_held(void **state)
{
	char *argv[] = {"true", NULL};
	struct launch_options options = {.argv = argv};
	struct launch launch = hold(&options);

	(void)state;
	kill(launch.pid, SIGINT);
	release(&launch); /* no SIGPIPE for us */
	assert_int_equal(WTERMSIG(wait_for(&launch)), SIGINT);
}

/* In a child: launch, report the pid, and die of SIGKILL. */
_Noreturn static void hold_and_die(struct scratch *scratch, int tell)
{
	char *argv[] = {"touch", (char *)(uintptr_t)scratch_path(scratch, "made"), NULL};
	struct launch_options options = {.argv = argv};
	struct launch launch = hold(&options);

	if (write(tell, &launch.pid, sizeof(launch.pid)) != sizeof(launch.pid))
		_exit(1);
	raise(SIGKILL);
	_exit(1);
}

static void test_parent_dies(void **state)
{
	struct scratch *scratch = *state;
	pid_t launched;
	pid_t parent;
	int tell[2];
	int status;

	/* The orphan becomes our child, so that we can wait for its exit. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	parent = fork();
	if (!parent)
		hold_and_die(scratch, tell[1]);
	assert_int_equal(read(tell[0], &launched, sizeof(launched)), sizeof(launched));
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_int_equal(waitpid(launched, &status, 0), launched);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), LAUNCH_FAILED);
	assert_int_not_equal(access(scratch_path(scratch, "made"), F_OK), 0);
	close(tell[0]);
	close(tell[1]);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* The second held child must not keep the first one's channel open. */
static void test_two_held_at_once(void **state)
{
	char *argv[] = {"true", NULL};
	struct launch_options options = {.argv = argv};
	struct launch first = hold(&options);
	struct launch second = hold(&options);
	int status;

	(void)state;
	launch_close(&first);
	assert_int_equal(waitpid(first.pid, &status, 0), first.pid);
	assert_int_equal(WEXITSTATUS(status), LAUNCH_FAILED);
	release(&second);
	assert_int_equal(wait_for(&second), 0);
}

static bool has_descriptor(pid_t pid, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	return !access(path, F_OK);
}

/* Close-on-exec descriptors are not inherited, including the channels. Others are. */
static void test_descriptors(void **state)
{
	int leaks[] = {fcntl(1, F_DUPFD, 100), fcntl(1, F_DUPFD_CLOEXEC, 200)};
	char *argv[] = {"sh", "-c", "kill -STOP $$", NULL};
	struct launch_options options = {.argv = argv};
	struct launch launch = hold(&options);
	int status;

	(void)state;
	release(&launch);
	assert_int_equal(waitpid(launch.pid, &status, WUNTRACED), launch.pid);
	assert_true(WIFSTOPPED(status));
	assert_true(has_descriptor(launch.pid, leaks[0]));
	assert_false(has_descriptor(launch.pid, leaks[1]));
	kill(launch.pid, SIGCONT);
	assert_int_equal(wait_for(&launch), 0);
	for (size_t i = 0; i < sizeof(leaks) / sizeof(leaks[0]); i++)
		close(leaks[i]);
}

/* If standard input is closed, the program must not inherit a channel in its place. */
static void test_closed_stdin(void **state)
{
	int saved = dup(0);
	int status;

	(void)state;
	close(0);
	status = run_shell("[ ! -e /proc/$$/fd/0 ] && [ -e /proc/$$/fd/1 ]");
	dup2(saved, 0);
	close(saved);
	assert_int_equal(status, 0);
}

static void handle(int signal_number)
{
	(void)signal_number;
}

/* The bits of a line of /proc/PID/status, such as "SigIgn". */
static uint64_t signal_bits(pid_t pid, const char *name)
{
	char path[64];
	char line[256];
	uint64_t bits = UINT64_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			bits = strtoull(line + strlen(name) + 1, NULL, 16);
	fclose(file);
	return bits;
}

static void check_signal_bits(struct launch *launch, uint64_t blocked, uint64_t ignored)
{
	release(launch);
	assert_int_equal(signal_bits(launch->pid, "SigBlk"), blocked);
	assert_int_equal(signal_bits(launch->pid, "SigIgn"), ignored);
	assert_int_equal(signal_bits(launch->pid, "SigCgt"), 0);
	kill(launch->pid, SIGKILL);
	assert_int_equal(WTERMSIG(wait_for(launch)), SIGKILL);
}

/* We block, ignore and handle signals. The program starts as if we did not, except for SIGHUP. */
static void test_signals(void **state)
{
	static const int ours[] = {SIGHUP, SIGPIPE, SIGUSR1};
	char *argv[] = {"sleep", "60", NULL};
	struct launch_options options = {.argv = argv};
	/* Two signals that libc reserves: as our parent left them. */
	uint64_t reserved = signal_bits(getpid(), "SigIgn") & 3ULL << 31;
	sigset_t all, none, hangup, old;
	struct launch launch;

	(void)state;
	sigfillset(&all);
	sigemptyset(&none);
	sigemptyset(&hangup);
	sigaddset(&hangup, SIGHUP);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		signal(ours[i], i < 2 ? SIG_IGN : handle);
	signal(SIGRTMIN + 1, SIG_IGN);
	sigprocmask(SIG_BLOCK, &all, &old);
	options.mask = &none;
	options.ignored = &hangup;
	launch = hold(&options);
	sigprocmask(SIG_SETMASK, &old, NULL);
	check_signal_bits(&launch, 0, 1 << (SIGHUP - 1) | reserved);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		signal(ours[i], SIG_DFL);
	signal(SIGRTMIN + 1, SIG_DFL);
}

/* Without a given mask, the program gets ours, and ours is unchanged afterwards. */
static void test_signals_default_mask(void **state)
{
	char *argv[] = {"sleep", "60", NULL};
	struct launch_options options = {.argv = argv};
	struct launch launch;
	sigset_t set, old;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, &old);
	launch = hold(&options);
	assert_int_equal(signal_bits(getpid(), "SigBlk"), 1 << (SIGUSR2 - 1));
	sigprocmask(SIG_SETMASK, &old, NULL);
	check_signal_bits(&launch, 1 << (SIGUSR2 - 1), signal_bits(getpid(), "SigIgn"));
}

static void test_path_search(void **state)
{
	struct scratch *scratch = *state;
	char *argv[] = {"tool", NULL};
	struct launch_options options = {.argv = argv};
	char *old = strdup(getenv("PATH"));
	char path[PATH_MAX];
	struct launch launch;

	assert_int_equal(scratch_run(scratch, "mkdir -p a b c c/tool d"), 0);
	scratch_write(scratch, "a/tool", "#!/bin/sh\nexit 1\n", 17, 0644); /* not executable */
	scratch_write(scratch, "b/tool", "#!/bin/sh\nexit 2\n", 17, 0755);
	snprintf(path, sizeof(path), "/nowhere:/etc/passwd:%1$s/a:%1$s/c:%1$s/b:%1$s/d",
		 scratch->root);
	setenv("PATH", path, 1);
	launch = hold(&options);
	assert_string_equal(launch.program, scratch_path(scratch, "b/tool"));
	release(&launch);
	assert_int_equal(WEXITSTATUS(wait_for(&launch)), 2);
	/* Only files that cannot be executed are found: that is the error, whatever comes after
	 * them. */
	snprintf(path, sizeof(path), "%1$s/a:%1$s/d", scratch->root);
	setenv("PATH", path, 1);
	check_fails(&options, -EACCES, LAUNCH_NOT_EXECUTABLE);
	setenv("PATH", "/nowhere", 1);
	check_fails(&options, -ENOENT, LAUNCH_NOT_FOUND);
	unsetenv("PATH");
	argv[0] = "true";
	assert_int_equal(run(&options), 0);
	setenv("PATH", old, 1);
	free(old);
}

/* Relative names, and an empty element of PATH, are relative to the program's directory. */
static void test_directory(void **state)
{
	static const char script[] = "#!/bin/sh\n[ \"$0\" = ./tool ] && exec pwd >out\n";
	struct scratch *scratch = *state;
	char *argv[] = {"./tool", NULL};
	struct launch_options options = {.argv = argv, .directory = scratch->root};
	char out[128] = {0};
	char expect[128];
	struct launch launch;
	int fd;

	scratch_write(scratch, "tool", script, strlen(script), 0755);
	launch = hold(&options);
	snprintf(expect, sizeof(expect), "%s/./tool", scratch->root);
	assert_string_equal(launch.program, expect);
	release(&launch);
	assert_int_equal(wait_for(&launch), 0);
	fd = open(scratch_path(scratch, "out"), O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, out, sizeof(out) - 1) > 0);
	close(fd);
	snprintf(expect, sizeof(expect), "%s\n", scratch->root);
	assert_string_equal(out, expect);
}

static bool need_root(void)
{
	if (!geteuid())
		return true;
	print_message("skipped: needs root to become another user\n");
	return false;
}

static void test_user(void **state)
{
	static const char *const users[] = {"nobody", "65534"};
	char *argv[] = {"sh", "-c", "[ \"$(id -u) $(id -G)\" = '65534 65534' ]", NULL};
	struct launch_options options = {.argv = argv};

	(void)state;
	if (!need_root())
		skip();
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		options.user = users[i];
		assert_int_equal(run(&options), 0);
	}
}

/* A directory that the user may not enter is detected in hold, not in release. */
static void test_user_locked_out(void **state)
{
	struct scratch *scratch = *state;
	char *argv[] = {"true", NULL};
	struct launch_options options = {.argv = argv, .user = "nobody"};
	char locked[PATH_MAX];

	if (!need_root())
		skip();
	assert_int_equal(scratch_run(scratch, "mkdir -m 700 locked"), 0);
	strcpy(locked, scratch_path(scratch, "locked"));
	options.directory = locked;
	check_fails(&options, -EACCES, LAUNCH_FAILED);
}

static void test_user_cannot_be_changed(void **state)
{
	char *argv[] = {"true", NULL};
	struct launch_options options = {.argv = argv, .user = "root"};
	pid_t pid;
	int status;

	(void)state;
	if (!need_root())
		skip();
	pid = fork();
	if (!pid) {
		struct launch launch;
		struct error err;

		if (setuid(65534))
			_exit(1);
		_exit(launch_hold(&options, &launch, &status, &err) != -EPERM ||
		      status != LAUNCH_FAILED);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

/* Do not use the caller's PATH: with an inaccessible directory, "not found" becomes "no access". */
static int set_path(void **state)
{
	(void)state;
	return setenv("PATH", "/usr/bin:/bin", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_found),
		WITH_SCRATCH(test_not_executable),
		WITH_SCRATCH(test_unknown_format),
		WITH_SCRATCH(test_missing_interpreter),
		cmocka_unit_test(test_no_program),
		cmocka_unit_test(test_no_such_directory),
		cmocka_unit_test(test_no_such_user),
		cmocka_unit_test(test_exit_status),
		WITH_SCRATCH(test_held_does_not_run),
		cmocka_unit_test(test_released_has_execed),
		WITH_SCRATCH(test_abandon),
		cmocka_unit_test(test_killed_while_held),
		WITH_SCRATCH(test_parent_dies),
		cmocka_unit_test(test_two_held_at_once),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_closed_stdin),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_signals_default_mask),
		WITH_SCRATCH(test_path_search),
		WITH_SCRATCH(test_directory),
		cmocka_unit_test(test_user),
		WITH_SCRATCH(test_user_locked_out),
		cmocka_unit_test(test_user_cannot_be_changed),
	};

	signal(SIGINT, SIG_DFL); /* shells start background jobs with SIGINT ignored */
	return cmocka_run_group_tests(tests, set_path, NULL);
}
