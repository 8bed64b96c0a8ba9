/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser's answers as bytes: valid answers are accepted, and all others are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parser/wire/channel.h"
#include "parser/wire/protocol.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static struct module_segment segments[] = {
	{.offset = 0, .vaddr = 0x400000, .size = 0x1000},
	{.offset = 0x1000, .vaddr = 0x401000, .size = 0x8000, .executable = true},
};

static const struct module example_module = {
	.build_id = "00ff1234",
	.machine = EM_X86_64,
	.elf64 = true,
	.executable = true,
	.segments = segments,
	.segment_count = COUNT_OF(segments),
};

static struct probe_site sites[] = {
	{
		.api = API_MALLOC,
		.needs_return = true,
		.emulated = true,
		.offset = 0x1004,
		.entry = 0x1000,
		.original = 0x55,
		.symbol = "malloc",
		.instruction = "push %rbp",
		.reason = "entry",
		.gate = {.offset = 0x1000, .end = 0x1080, .size = 6},
	},
	{.api = API_FREE, .offset = 0x2000, .entry = 0x2000, .symbol = "free", .reason = "r"},
};
static struct probe_wrapper wrappers[] = {{API_NEW, 0x3000, 0x3010}};
static struct probe_mark marks[] = {
	{API_DELETE, 0x1404, 0x1400, 0x10, 1, -1, true},
};
static struct probe_refusal refusals[] = {{API_NEW_ARRAY, "_Znam", "it throws"}};

static const struct probe_plan example_plan = {
	.sites = sites,
	.site_count = COUNT_OF(sites),
	.wrappers = wrappers,
	.wrapper_count = COUNT_OF(wrappers),
	.marks = marks,
	.mark_count = COUNT_OF(marks),
	.refusals = refusals,
	.refusal_count = COUNT_OF(refusals),
	.hooks = {[HOOK_LINK_MAP] = 0x1800},
	.allocator = true,
};

static struct unwind_row rows[] = {
	{.offset = 0x1000, .cfa_offset = 1, .kinds = UNWIND_KINDS(UNWIND_CFA_SP, UNWIND_BP_SAME)},
	{.offset = 0x1001, .cfa_offset = 2, .kinds = UNWIND_KINDS(UNWIND_CFA_BP, UNWIND_BP_AT_CFA)},
	{.offset = 0x2000, .kinds = UNWIND_KINDS(UNWIND_CFA_GAP, UNWIND_BP_SAME)},
};

static const struct cfi_table example_table = {
	.rows = {.items = rows, .count = COUNT_OF(rows)},
	.abi = &unwind_abi_x86_64,
	.counts = {.functions = 7, .lost_bp = 3},
};

static const struct symbol_name example_names[] = {
	{"inner", "a.h", 3, true},
	{"outer()", NULL, 0, false},
};

static char *needed[] = {"libc.so.6", "libm.so.6"};
static const struct elf_dynamic example_dynamic = {
	.identity = {ELFCLASS64, ELFDATA2LSB, EM_X86_64},
	.interpreter = "/lib64/ld-linux-x86-64.so.2",
	.runpath = "$ORIGIN",
	.needed = {needed, COUNT_OF(needed), COUNT_OF(needed)},
};

/* For each answer: functions that write it, and that read, check and free it. */

static void put_module(struct wire *wire)
{
	module_put(wire, &example_module);
}

static int take_module(struct wire_view *view)
{
	struct module module = {0};
	int err = module_take(view, &module);

	if (err) {
		assert_null(module.segments);
		return err;
	}
	assert_true(strlen(module.build_id) <= 40);
	free(module.segments);
	return 0;
}

static void put_plan(struct wire *wire)
{
	plan_put(wire, &example_plan);
}

static int take_plan(struct wire_view *view)
{
	struct probe_plan *plan;
	int err = plan_take(view, &example_module, &plan);

	if (err)
		return err;
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct probe_site *site = &plan->sites[i];

		assert_in_range(site->api, 1, API_COUNT - 1);
		assert_in_range(site->offset, 0x1000, 0x8fff);
		assert_non_null(memchr(site->reason, '\0', sizeof(site->reason)));
		assert_true(!i || site->offset >= site[-1].offset);
	}
	probe_plan_free(plan);
	return 0;
}

static void put_table(struct wire *wire)
{
	table_put(wire, &example_table);
}

static int take_table(struct wire_view *view)
{
	struct cfi_table table;
	int err = table_take(view, &table);

	if (err)
		return err;
	assert_true(table.rows.count > 0);
	for (size_t i = 0; i < table.rows.count; i++) {
		const struct unwind_row *row = &table.rows.items[i];

		assert_true(!i || row->offset > row[-1].offset);
		assert_true(unwind_row_cfa(row) <= UNWIND_CFA_GAP);
		assert_true(unwind_row_bp(row) <= UNWIND_BP_LOST);
	}
	cfi_table_free(&table);
	return 0;
}

static void put_names(struct wire *wire)
{
	names_put(wire, example_names, COUNT_OF(example_names));
}

static int take_names(struct wire_view *view)
{
	struct symbol_name names[PROTOCOL_INLINE_MAX];
	size_t count;
	int err = names_take(view, names, &count);

	for (size_t i = 0; !err && i < count; i++)
		assert_true(!names[i].function || strlen(names[i].function) < 1 << 16);
	return err ? err : wire_finish(view);
}

static void put_dynamic(struct wire *wire)
{
	dynamic_put(wire, &example_dynamic);
}

static int take_dynamic(struct wire_view *view)
{
	struct elf_dynamic dynamic;
	int err = dynamic_take(view, &dynamic);

	if (!err)
		elf_dynamic_free(&dynamic);
	return err;
}

static void put_prefetched(struct wire *wire)
{
	struct wire parts[PREFETCH_KINDS] = {0};

	put_module(&parts[PREFETCH_MODULE]);
	put_table(&parts[PREFETCH_TABLE]);
	for (int kind = 0; kind < PREFETCH_KINDS; kind++) {
		prefetch_put(wire, &parts[kind]);
		wire_free(&parts[kind]);
	}
}

static int take_prefetched(struct wire_view *view)
{
	struct wire parts[PREFETCH_KINDS];
	size_t size = (size_t)(view->end - view->at);
	int err = prefetch_take(view, parts);

	for (int kind = 0; !err && kind < PREFETCH_KINDS; kind++) {
		assert_true(parts[kind].count <= size);
		wire_free(&parts[kind]);
	}
	return err;
}

static void put_want(struct wire *wire)
{
	const struct debug_want want = {
		.build_id = {1, 2, 3}, .build_id_size = 3, .link = "p.debug", .candidate = 7};

	want_put(wire, &want);
}

static int take_want(struct wire_view *view)
{
	struct debug_want want;
	int err = want_take(view, &want);

	assert_true(err || want.build_id_size <= DEBUG_BUILD_ID_MAX);
	return err;
}

static void put_failure(struct wire *wire)
{
	const struct error err = {-ENOTSUP, "not supported"};

	failure_put(wire, &err);
}

static int take_failure(struct wire_view *view)
{
	struct error err;
	int code = failure_take(view, &err);

	assert_true(err.code < 0 && err.code != -ENOMEM);
	assert_non_null(memchr(err.text, '\0', sizeof(err.text)));
	return code;
}

static const struct answer {
	void (*put)(struct wire *wire);
	int (*take)(struct wire_view *view);
} answers[] = {
	{put_module, take_module},   {put_plan, take_plan},
	{put_table, take_table},     {put_names, take_names},
	{put_dynamic, take_dynamic}, {put_want, take_want},
	{put_failure, take_failure}, {put_prefetched, take_prefetched},
};

/* Uses memory of exactly this size, so that sanitizers detect reads beyond it. */
static int take_bytes(const struct answer *answer, const void *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct wire_view view = {.at = copy, .end = copy + size};
	int err;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	err = answer->take(&view);
	free(copy);
	return err;
}

static void test_valid_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		struct wire wire = {0};

		answers[i].put(&wire);
		assert_int_equal(take_bytes(&answers[i], wire.items, wire.count), 0);
		wire_free(&wire);
	}
}

/* Answers are refused if they are cut anywhere, or followed by more bytes. */
static void test_truncated(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		struct wire wire = {0};

		answers[i].put(&wire);
		for (size_t size = 0; size < wire.count; size++)
			assert_int_equal(take_bytes(&answers[i], wire.items, size), -EBADMSG);
		wire_put_u8(&wire, 0);
		assert_int_equal(take_bytes(&answers[i], wire.items, wire.count), -EBADMSG);
		wire_free(&wire);
	}
}

/* Changes bytes pseudo-randomly, the same in every run. */
static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void test_damaged(void **state)
{
	static const uint8_t spiteful[] = {0, 1, 0x7f, 0x80, 0xff};
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		const struct answer *answer = &answers[(size_t)round % COUNT_OF(answers)];
		struct wire wire = {0};

		answer->put(&wire);
		for (uint32_t n = next_random(&seed) % 4; n < 4; n++)
			wire.items[next_random(&seed) % wire.count] =
				next_random(&seed) & 1 ? spiteful[next_random(&seed) % 5]
						       : (uint8_t)next_random(&seed);
		take_bytes(answer, wire.items, wire.count);
		wire_free(&wire);
	}
}

static void test_module(void **state)
{
	struct module module = {0};
	struct wire wire = {0};
	struct wire_view view;

	(void)state;
	put_module(&wire);
	view = wire_view(&wire);
	assert_int_equal(module_take(&view, &module), 0);
	assert_string_equal(module.build_id, "00ff1234");
	assert_int_equal(module.machine, EM_X86_64);
	assert_true(module.elf64 && module.executable && !module.big_endian);
	assert_int_equal(module.segment_count, 2);
	assert_int_equal(module.segments[1].vaddr, 0x401000);
	assert_true(module.segments[1].executable && !module.segments[0].executable);
	free(module.segments);
	wire_free(&wire);
}

/* A plan with a single error. */
static void check_plan_refused(struct probe_plan plan)
{
	struct probe_plan *taken;
	struct wire wire = {0};
	struct wire_view view;

	plan_put(&wire, &plan);
	view = wire_view(&wire);
	assert_int_equal(plan_take(&view, &example_module, &taken), -EBADMSG);
	wire_free(&wire);
}

static void check_site_refused(struct probe_site site)
{
	struct probe_plan plan = {.sites = &site, .site_count = 1};

	check_plan_refused(plan);
}

static void test_gates(void **state)
{
	struct probe_site site;

	(void)state;
	site = sites[0], site.gate.offset = 0xfff, check_site_refused(site);
	site = sites[0], site.gate.end = 0x1005, check_site_refused(site);
	site = sites[0], site.gate.end = 0xa000, check_site_refused(site); /* data */
	site = sites[0], site.gate.size = GATE_DISPLACED_MAX + 1, check_site_refused(site);
	site = sites[0], site.gate.refusal = GATE_REFUSALS, check_site_refused(site);
}

static void check_mark_refused(struct probe_mark mark)
{
	struct probe_plan plan = {.marks = &mark, .mark_count = 1};

	check_plan_refused(plan);
}

static void test_marks(void **state)
{
	struct probe_mark mark;
	struct probe_plan *plan;
	struct wire wire = {0};
	struct wire_view view;

	(void)state;
	put_plan(&wire);
	view = wire_view(&wire);
	assert_int_equal(plan_take(&view, &example_module, &plan), 0);
	assert_int_equal(plan->mark_count, 1);
	assert_memory_equal(&plan->marks[0], &marks[0], sizeof(marks[0]));
	probe_plan_free(plan);
	wire_free(&wire);

	mark = marks[0], mark.api = API_FREE, check_mark_refused(mark);
	mark = marks[0], mark.offset = 0xfff, check_mark_refused(mark); /* data */
	mark = marks[0], mark.entry = 0x1405, check_mark_refused(mark);
	mark = marks[0], mark.entry = 0x1200, check_mark_refused(mark);
	mark = marks[0], mark.size = 1 << 24, check_mark_refused(mark);
	mark = marks[0], mark.passed_size = 15, check_mark_refused(mark);
	mark = marks[0], mark.aligned = 15, check_mark_refused(mark);
}

static void test_plan(void **state)
{
	struct probe_site site, swapped[] = {sites[1], sites[0]};
	struct probe_wrapper wrapper = {API_NEW, 2, 1};
	struct probe_plan *plan;
	struct wire wire = {0};
	struct wire_view view;

	(void)state;
	put_plan(&wire);
	view = wire_view(&wire);
	assert_int_equal(plan_take(&view, &example_module, &plan), 0);
	assert_int_equal(plan->site_count, 2);
	assert_string_equal(plan->sites[0].instruction, "push %rbp");
	assert_int_equal(plan->sites[0].original, 0x55);
	assert_int_equal(plan->sites[0].gate.end, 0x1080);
	assert_int_equal(plan->sites[0].gate.size, 6);
	assert_int_equal(plan->wrappers[0].end, 0x3010);
	assert_string_equal(plan->refusals[0].reason, "it throws");
	assert_int_equal(plan->hooks[HOOK_LINK_MAP], 0x1800);
	probe_plan_free(plan);
	wire_free(&wire);

	site = sites[0], site.api = API_COUNT, check_site_refused(site);
	site = sites[0], site.api = API_NONE, check_site_refused(site);
	site = sites[0], site.offset = 0xfff, check_site_refused(site); /* data */
	site = sites[0], site.offset = 0x9000, check_site_refused(site);
	site = sites[0], site.entry = 0x1005, check_site_refused(site);
	site = sites[0], site.needs_return = false, check_site_refused(site);
	site = sites[1], site.needs_return = true, check_site_refused(site);
	check_plan_refused((struct probe_plan){.sites = swapped, .site_count = 2});
	check_plan_refused((struct probe_plan){.wrappers = &wrapper, .wrapper_count = 1});
	check_plan_refused((struct probe_plan){.hooks = {0x10}});
}

static void check_rows(const struct unwind_row *of, size_t count, int expected)
{
	struct cfi_table table = example_table, taken;
	struct wire wire = {0};
	struct wire_view view;

	table.rows.items = (struct unwind_row *)of;
	table.rows.count = count;
	table_put(&wire, &table);
	view = wire_view(&wire);
	assert_int_equal(table_take(&view, &taken), expected);
	if (!expected) {
		assert_int_equal(taken.rows.count, count);
		assert_memory_equal(taken.rows.items, of, count * sizeof(*of));
		assert_int_equal(taken.counts.lost_bp, 3);
		assert_memory_equal(taken.abi, &unwind_abi_x86_64, sizeof(*taken.abi));
		cfi_table_free(&taken);
	}
	wire_free(&wire);
}

static void test_table(void **state)
{
	struct unwind_row changed[COUNT_OF(rows)];

	(void)state;
	check_rows(rows, COUNT_OF(rows), 0);
	check_rows(rows, 0, -EBADMSG);
	check_rows(rows, 2, -EBADMSG); /* no gap at the end */
	memcpy(changed, rows, sizeof(rows));
	changed[1].offset = changed[0].offset;
	check_rows(changed, COUNT_OF(rows), -EBADMSG);
	memcpy(changed, rows, sizeof(rows));
	changed[0].kinds = UNWIND_KINDS(UNWIND_CFA_GAP + 1, UNWIND_BP_SAME);
	check_rows(changed, COUNT_OF(rows), -EBADMSG);
	changed[0].kinds = UNWIND_KINDS(UNWIND_CFA_SP, UNWIND_BP_LOST + 1);
	check_rows(changed, COUNT_OF(rows), -EBADMSG);
}

/* Error texts cannot control the terminal, and errors of the parser's resources are mapped to
 * others. */
static void test_failure(void **state)
{
	static const struct {
		int sent, taken;
	} codes[] = {{-ENOEXEC, -ENOEXEC}, {-ENOTSUP, -ENOTSUP}, {-E2BIG, -E2BIG},
		     {-ENOENT, -ENOENT},   {-ENOMEM, -E2BIG},    {-EPERM, -ENOEXEC},
		     {0, -ENOEXEC},        {-100000, -ENOEXEC}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(codes); i++) {
		struct error err = {codes[i].sent, "a\033[2Jb\n"};
		struct wire wire = {0};
		struct wire_view view;

		failure_put(&wire, &err);
		view = wire_view(&wire);
		assert_int_equal(failure_take(&view, &err), 0);
		assert_int_equal(err.code, codes[i].taken);
		assert_string_equal(err.text, "a?[2Jb?");
		wire_free(&wire);
	}
}

static void test_strings(void **state)
{
	struct wire wire = {0};
	struct wire_view view;

	(void)state;
	wire_put_string(&wire, NULL, 9);
	wire_put_string(&wire, "", 9);
	wire_put_string(&wire, "abcdef", 3);
	view = wire_view(&wire);
	assert_null(wire_take_string(&view, 9));
	assert_false(view.failed);
	assert_string_equal(wire_take_string(&view, 0), "");
	assert_string_equal(wire_take_string(&view, 3), "abc");
	assert_int_equal(wire_finish(&view), 0);

	view = wire_view(&wire);
	wire_take_u32(&view);
	wire_take_string(&view, 9);
	assert_null(wire_take_string(&view, 2)); /* too long */
	assert_int_equal(wire_finish(&view), -EBADMSG);

	wire.items[wire.count - 2] = '\0'; /* shorter than it says */
	view = wire_view(&wire);
	wire_take_u32(&view);
	wire_take_string(&view, 9);
	assert_null(wire_take_string(&view, 9));
	assert_true(view.failed);
	wire_free(&wire);
}

static void test_channel(void **state)
{
	struct wire body = {0};
	struct frame frame;
	int ends[2], file = dup(STDIN_FILENO);

	(void)state;
	assert_int_equal(channel_open(ends), 0);
	wire_put_string(&body, "hello", 9);
	assert_int_equal(channel_send(ends[0], 3, &body, file, CHANNEL_FOREVER), 0);
	assert_int_equal(channel_send(ends[0], 4, NULL, -1, CHANNEL_FOREVER), 0);
	assert_int_equal(channel_send(ends[0], 5, &body, -1, CHANNEL_FOREVER), 0);
	assert_int_equal(channel_receive(ends[1], 100, CHANNEL_FOREVER, &frame), 0);
	assert_int_equal(frame.kind, 3);
	assert_int_equal(frame.body.count, body.count);
	assert_true(frame.fd > file);
	frame_free(&frame);
	assert_int_equal(channel_receive(ends[1], 0, CHANNEL_FOREVER, &frame), 0);
	assert_int_equal(frame.kind, 4);
	assert_int_equal(frame.fd, -1);
	frame_free(&frame);
	assert_int_equal(channel_receive(ends[1], body.count - 1, CHANNEL_FOREVER, &frame),
			 -EBADMSG);
	close(ends[0]);
	close(ends[1]);

	assert_int_equal(channel_open(ends), 0);
	assert_int_equal(channel_receive(ends[1], 100, 0, &frame), -ETIMEDOUT);
	assert_int_equal(write(ends[0], "abcd", 4), 4); /* half a head, then end of file */
	close(ends[0]);
	assert_int_equal(channel_receive(ends[1], 100, CHANNEL_FOREVER, &frame), -EPIPE);
	assert_int_equal(channel_send(ends[1], 1, &body, -1, CHANNEL_FOREVER), -EPIPE);
	close(ends[1]);
	close(file);
	wire_free(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid_answers), cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_damaged),       cmocka_unit_test(test_module),
		cmocka_unit_test(test_plan),          cmocka_unit_test(test_marks),
		cmocka_unit_test(test_gates),         cmocka_unit_test(test_table),
		cmocka_unit_test(test_failure),       cmocka_unit_test(test_strings),
		cmocka_unit_test(test_channel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
