/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Live blocks as a log of glibc's mtrace(). Reports say when they are incomplete. */
#include "tests/unit/model_fixture.h"
#include "tests/unit/render.h"

static struct model_fixture fixture_with_blocks(void)
{
	return fixture_open((struct model_config){
		.apis = API_SET_ALL, .wrappers = true, .sanity = true, .lists_blocks = true});
}

static char *log_of(struct model_fixture *fixture)
{
	const struct format_options look_like = {.width = 80};

	fixture_snapshot(fixture);
	return render(&format_mtrace, fixture->snapshot, &look_like);
}

static void send_calls(struct model_fixture *fixture)
{
	const uint64_t frames[] = {PROGRAM + 0x10, PROGRAM + 0x20};

	send_stack(fixture, 1, frames, 2, 0);
	fixture->stack = 1;
	send_malloc(fixture, 0x3000, 30);
	send_malloc(fixture, 0x1000, 10);
	send_malloc(fixture, 0x2000, 20);
	send_free(fixture, 0x2000);
}

static void test_live_blocks(void **state)
{
	struct model_fixture fixture = fixture_with_blocks();
	char *text;

	(void)state;
	send_calls(&fixture);
	text = log_of(&fixture);
	assert_string_equal(text, "= Start\n"
				  "@ [0x400010] + 0x1000 0xa\n"
				  "@ [0x400010] + 0x3000 0x1e\n"
				  "= End\n");
	free(text);
	fixture_close(&fixture);
}

/* A process that exits keeps its blocks and sums. */
static void test_blocks_of_exited_process(void **state)
{
	struct model_fixture fixture = fixture_with_blocks();
	char *before, *after;
	uint64_t oldest_ns;

	(void)state;
	send_calls(&fixture);
	before = log_of(&fixture);
	oldest_ns = site_of(look(&fixture), API_MALLOC)->oldest_ns;
	send_exit(&fixture);
	after = log_of(&fixture);
	assert_string_equal(after, before);
	assert_int_equal(site_of(look(&fixture), API_MALLOC)->oldest_ns, oldest_ns);
	free(before);
	free(after);
	fixture_close(&fixture);
}

/* Without this format, the list of blocks is not kept. */
static void test_blocks_only_on_request(void **state)
{
	struct model_fixture fixture = fixture_default();
	char *text;

	(void)state;
	send_calls(&fixture);
	text = log_of(&fixture);
	assert_string_equal(text, "= Start\n= End\n");
	free(text);
	fixture_close(&fixture);
}

/* A log has only one process, the most important one. */
static void test_most_important_of_several_processes(void **state)
{
	struct model_fixture fixture = fixture_with_blocks();
	char *text;

	(void)state;
	fixture_switch_to(&fixture, PID + 1);
	send_process(&fixture, EVENT_PROCESS, START_TIME);
	send_calls(&fixture);
	text = log_of(&fixture);
	assert_non_null(strstr(text, "# only process 101; others are omitted\n"));
	assert_non_null(strstr(text, " + 0x1000 0xa\n"));
	free(text);
	fixture_close(&fixture);
}

static void test_names_cannot_make_lines(void **state)
{
	struct snapshot_frame frames[] = {{.module = "/l/operator", .wrapper = true},
					  {.module = "/a b\n= End\x7f", .vaddr = 0x10}};
	struct snapshot_stack stack = {.frames = frames, .frame_count = 2};
	struct snapshot_block block = {.address = 0x1000, .size = 1};
	struct snapshot_error errors[] = {
		{.kind = SANITY_INVALID_FREE, .address = 0x20, .freed_at = 0},
		{.kind = SANITY_DOUBLE_FREE, .address = 0x30, .freed_again_at = INDEX_NONE},
		{.kind = SANITY_MISMATCHED_FREE, .address = 0x40},
	};
	struct snapshot_process process = {.stacks = &stack,
					   .stack_count = 1,
					   .blocks = &block,
					   .block_count = 1,
					   .errors = errors,
					   .error_count = 3};
	const struct snapshot snapshot = {
		.processes = &process, .process_count = 1, .incomplete = "cut"};
	char *text = render(&format_mtrace, &snapshot, &(struct format_options){.width = 80});

	(void)state;
	assert_string_equal(text, "= Start\n"
				  "# incomplete\n"
				  "@ /a?b\\x0a=?End\\x7f:[0x10] + 0x1000 0x1\n"
				  "@ /a?b\\x0a=?End\\x7f:[0x10] - 0x20\n"
				  "- 0x30\n"
				  "= End\n");
	free(text);
}

/* Only paths that are valid UTF-8 reach a terminal, and nothing that reorders or hides text. */
static void test_paths_are_escaped(void **state)
{
	static const struct {
		const char *path, *written;
	} rows[] = {
		{"/opt/caf\u00e9/\u65e5\u672c", "/opt/caf\u00e9/\u65e5\u672c"},
		{"/a\x1b[31m\tb", "/a\\x1b[31m\\x09b"},
		{"/a\xff\xc3", "/a\\xff\\xc3"},
		{"/a\xc0\xaf", "/a\\xc0\\xaf"},
		{"/a\xc2\x9b"
		 "2J",
		 "/a\\u{9b}2J"},
		{"/a\u202egro", "/a\\u{202e}gro"},
		{"/a\u200b\u2066b", "/a\\u{200b}\\u{2066}b"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot_frame frame = {.module = rows[i].path, .vaddr = 0x10};
		struct snapshot_stack stack = {.frames = &frame, .frame_count = 1};
		struct snapshot_block block = {.address = 0x1000, .size = 1};
		struct snapshot_process process = {
			.stacks = &stack, .stack_count = 1, .blocks = &block, .block_count = 1};
		const struct snapshot snapshot = {.processes = &process, .process_count = 1};
		char *text = render(&format_mtrace, &snapshot, &(struct format_options){0});
		char wanted[128];

		snprintf(wanted, sizeof(wanted), "= Start\n@ %s:[0x10] + 0x1000 0x1\n= End\n",
			 rows[i].written);
		assert_string_equal(text, wanted);
		free(text);
	}
}

static void test_incompleteness_is_reported(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct format_options look_like = {.width = 80};
	char *text;

	(void)state;
	fixture_snapshot(&fixture);
	fixture.snapshot->version = "";
	fixture.snapshot->incomplete = "the recording is cut off";
	text = render(&format_text, fixture.snapshot, &look_like);
	assert_int_equal(strncmp(text, "  ! incomplete: the recording is cut off\n", 41), 0);
	free(text);
	text = render(&format_json, fixture.snapshot, &look_like);
	assert_non_null(strstr(text, "\"incomplete\": \"the recording is cut off\""));
	free(text);
	fixture_close(&fixture);
}

/* Models are found by number until they are summed up. */
static void test_models_by_number(void **state)
{
	struct model_fixture fixture =
		fixture_open((struct model_config){.apis = API_SET_ALL, .max_closed = 1});
	struct process *first = model_process(fixture.model, PID);

	(void)state;
	assert_ptr_equal(model_process_by_number(fixture.model, 0), first);
	assert_null(model_process_by_number(fixture.model, 1));
	send_process(&fixture, EVENT_EXEC, START_TIME);
	assert_ptr_equal(model_process_by_number(fixture.model, 0), first);
	assert_ptr_equal(model_process_by_number(fixture.model, 1),
			 model_process(fixture.model, PID));
	send_process(&fixture, EVENT_EXEC, START_TIME);
	assert_null(model_process_by_number(fixture.model, 0));
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live_blocks),
		cmocka_unit_test(test_blocks_of_exited_process),
		cmocka_unit_test(test_blocks_only_on_request),
		cmocka_unit_test(test_most_important_of_several_processes),
		cmocka_unit_test(test_names_cannot_make_lines),
		cmocka_unit_test(test_paths_are_escaped),
		cmocka_unit_test(test_incompleteness_is_reported),
		cmocka_unit_test(test_models_by_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
