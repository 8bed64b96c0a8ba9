/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Defaults from configuration files: the same options as on the command line, and errors with file
 * and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "app/cli/config_file.h"
#include "app/cli/option_parser.h"
#include "tests/unit/scratch.h"

static int read_text(struct scratch *scratch, const char *text, struct options *options,
		     struct error *err)
{
	*options = (struct options){0};
	scratch_write(scratch, "config", text, strlen(text), 0600);
	return config_read(options, scratch_path(scratch, "config"), err);
}

static void assert_wrong(struct scratch *scratch, const char *text, const char *reason)
{
	struct options options;
	struct error err = {0};

	assert_true(read_text(scratch, text, &options, &err) < 0);
	if (!strstr(err.text, reason))
		fail_msg("%s: %s", text, err.text);
	options_free(&options);
}

static void test_lines(void **state)
{
	struct options options;
	struct error err;
	int code = read_text(*state,
			     "# always\n\n  depth 64\nsort=total\n\tscan \r\ntop = 5\n"
			     "omit /lib/with a blank.so\nomit b.so\nignore ^png_\nignore /jpeg/\n"
			     "long",
			     &options, &err);

	if (code)
		fail_msg("%s", err.text);
	assert_int_equal(options.depth, 64);
	assert_int_equal(options.sort, SORT_TOTAL);
	assert_true(options.scan && options.long_frames);
	assert_int_equal(options.top, 5);
	assert_int_equal(options.omit.count, 2);
	assert_string_equal(options.omit.items[0], "/lib/with a blank.so");
	assert_non_null(options.suppressions);
	options_free(&options);
}

static void test_invalid_lines(void **state)
{
	struct scratch *scratch = *state;
	char reason[PATH_MAX + 32];

	assert_wrong(scratch, "scan\ndept 5\n", "unknown option \"dept\" (did you mean depth?)");
	snprintf(reason, sizeof(reason), "%s:2: unknown option", scratch_path(scratch, "config"));
	assert_wrong(scratch, "scan\ndept 5\n", reason);
	assert_wrong(scratch, "\n\ndepth 500\n", ":3: depth: \"500\" is not a number");
	assert_wrong(scratch, "depth\n", ":1: depth needs an argument");
	assert_wrong(scratch, "scan yes\n", ":1: scan takes no argument");
	assert_wrong(scratch, "ignore [\n", ":1: ignore: ");
	assert_wrong(scratch, "pid 5\n", "belongs on the command line");
	assert_wrong(scratch, "comm nginx\n", "belongs on the command line");
	assert_wrong(scratch, "config other\n", "belongs on the command line");
	assert_wrong(scratch, "=5\n", "unknown option \"\"");
}

static void test_invalid_files(void **state)
{
	struct scratch *scratch = *state;
	struct options options = {0};
	struct error err = {0};

	scratch_write(scratch, "binary", "scan\n\0depth 5\n", 14, 0600);
	assert_int_equal(config_read(&options, scratch_path(scratch, "binary"), &err), -EINVAL);
	assert_non_null(strstr(err.text, "not a text file"));
	assert_int_equal(config_read(&options, scratch_path(scratch, "none"), &err), -ENOENT);
	assert_int_equal(config_read(&options, scratch->root, &err), -EISDIR);
	options_free(&options);
}

/* The command line overrides the file, and --config may be anywhere on it. */
static void test_command_line(void **state)
{
	struct scratch *scratch = *state;
	char path[PATH_MAX];
	char *words[] = {"--depth", "7", "-F", path, "--", "true", NULL};
	struct options options;
	struct error err;

	scratch_write(scratch, "config", "depth 64\ntop 3\n", 15, 0600);
	snprintf(path, sizeof(path), "%s", scratch_path(scratch, "config"));
	assert_int_equal(options_load(&options, words, &err), 0);
	assert_int_equal(options.depth, 7);
	assert_int_equal(options.top, 3);
	options_free(&options);
	assert_int_equal(options_parse(&options, words, &err), 0);
	assert_int_equal(options.top, TOP_DEFAULT);
	options_free(&options);
}

static void test_default_files(void **state)
{
	struct scratch *scratch = *state;
	char *none[] = {"--", "true", NULL};
	struct options options;
	struct error err;

	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", scratch->root, 1);
	scratch_write(scratch, ".mtrace-bpf", "depth 5\n", 8, 0600);
	assert_int_equal(options_load(&options, none, &err), 0);
	assert_int_equal(options.depth, 5);
	options_free(&options);
	assert_int_equal(scratch_run(scratch, "mkdir -p .config/mtrace-bpf"), 0);
	scratch_write(scratch, ".config/mtrace-bpf/config", "depth 6\n", 8, 0600);
	assert_int_equal(options_load(&options, none, &err), 0);
	assert_int_equal(options.depth, 6);
	options_free(&options);
	scratch_write(scratch, ".config/mtrace-bpf/config", "depth 6\n", 8, 0666);
	assert_int_equal(options_load(&options, none, &err), 0);
	assert_int_equal(options.depth, DEPTH_DEFAULT);
	options_free(&options);
	setenv("XDG_CONFIG_HOME", scratch->root, 1);
	assert_int_equal(scratch_run(scratch, "mkdir -p mtrace-bpf"), 0);
	scratch_write(scratch, "mtrace-bpf/config", "dept 6\n", 7, 0600);
	assert_int_equal(options_load(&options, none, &err), -EINVAL);
	options_free(&options);
}

int main(void)
{
#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(test_lines),         IN_SCRATCH(test_invalid_lines),
		IN_SCRATCH(test_invalid_files), IN_SCRATCH(test_command_line),
		IN_SCRATCH(test_default_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
