/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots: stacks and the mappings that resolve them, strings, order, names. */
#include <errno.h>
#include <stdio.h>

#include "model/snapshot/resolve.h"
#include "tests/unit/model_fixture.h"

#define A               0x1000ULL
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void test_identity(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section = look(&fixture);

	(void)state;
	assert_int_equal(section->pid, PID);
	assert_int_equal(section->ppid, 1);
	assert_int_equal(section->start_time_ns, START_TIME);
	assert_string_equal(section->comm, "target");
	assert_string_equal(section->exe, "/bin/target");
	assert_string_equal(section->arch, "x86_64");
	assert_int_equal(section->inner_pid, 12);
	assert_string_equal(section->cgroup, "/docker/id");
	assert_string_equal(section->container, "id");
	assert_string_equal(section->command[0], "target");
	assert_string_equal(section->command[1], "-x");
	assert_null(section->command[2]);
	assert_ptr_equal(section->comm, section->command[0]); /* shared */
	assert_int_equal(section->traced_since_ns, MS);
	assert_int_equal(section->traced_until_ns, fixture.now_ns);
	assert_int_equal(fixture.snapshot->taken_ns, fixture.now_ns);
	assert_true(fixture.snapshot->taken_at > 0);
	fixture_close(&fixture);
}

static void test_stacks(void **state)
{
	static const uint64_t frames[] = {PROGRAM + 0x10, PROGRAM + 0x20, LIBC + 0x30, 0x1234};
	struct model_fixture fixture = fixture_default();
	const struct snapshot_stack *stack;

	(void)state;
	send_stack(&fixture, 7, frames, 4, EVENT_FLAG_TRUNCATED);
	send_stack(&fixture, 8, frames, 4, 0); /* never used */
	fixture.stack = 7;
	send_malloc(&fixture, A, 10);
	assert_int_equal(look(&fixture)->stack_count, 1);
	stack = &look(&fixture)->stacks[0];
	assert_int_equal(stack->frame_count, 4);
	assert_true(stack->truncated);
	assert_int_equal(stack->frames[0].module_id, MODULE_PROGRAM);
	assert_int_equal(stack->frames[0].offset, 0x1010);
	assert_int_equal(stack->frames[1].address, PROGRAM + 0x20);
	assert_int_equal(stack->frames[2].module_id, MODULE_LIBC);
	assert_int_equal(stack->frames[2].offset, 0x2030);
	assert_int_equal(stack->frames[3].module_id, MODULE_NONE);
	assert_int_equal(stack->frames[3].address, 0x1234);
	assert_null(stack->frames[0].function);
	assert_int_equal(look(&fixture)->losses.truncated_stacks, 1);
	assert_int_equal(look(&fixture)->losses.stacks, 0);
	fixture_close(&fixture);
}

static void test_without_stack(void **state)
{
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;

	(void)state;
	send_malloc(&fixture, A, 1);
	send_malloc(&fixture, A + 16, 2);
	fixture.caller++;
	send_malloc(&fixture, A + 32, 4);
	section = look(&fixture);
	assert_int_equal(section->site_count, 2);
	assert_int_equal(section->sites[0].live_bytes, 3);
	assert_int_equal(section->stacks[0].frame_count, 1);
	assert_int_equal(section->stacks[0].frames[0].address, fixture.caller - 1);
	assert_int_equal(section->stacks[0].stop, STOP_NOT_TAKEN);
	assert_false(section->stacks[0].truncated);
	assert_int_equal(section->losses.stacks, 0);
	fixture_close(&fixture);
}

static void test_unannounced_stack(void **state)
{
	static const uint64_t frames[] = {PROGRAM + 0x10, PROGRAM + 0x20};
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;

	(void)state;
	fixture.stack = 7;
	send_malloc(&fixture, A, 1);
	send_malloc(&fixture, A + 16, 2);
	section = look(&fixture);
	assert_int_equal(section->site_count, 1);
	assert_int_equal(section->stacks[0].frame_count, 1);
	assert_int_equal(section->stacks[0].frames[0].address, fixture.caller);
	assert_true(section->stacks[0].truncated);
	assert_int_equal(section->losses.stacks, 1);
	assert_int_equal(section->losses.truncated_stacks, 0);
	send_stack(&fixture, 7, frames, 2, 0); /* late */
	send_malloc(&fixture, A + 32, 4);
	section = look(&fixture);
	assert_int_equal(section->site_count, 1);
	assert_int_equal(section->stacks[0].frame_count, 2);
	assert_false(section->stacks[0].truncated);
	assert_int_equal(section->losses.stacks, 1);
	fixture_close(&fixture);
}

static void test_invalid_stacks(void **state)
{
	static const uint64_t frames[STACK_MAX_FRAMES + 10] = {PROGRAM + 1};
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;

	(void)state;
	send_stack(&fixture, 7, frames, COUNT_OF(frames), 0);
	send_stack(&fixture, 8, frames, 0, 0);
	fixture.stack = 7;
	send_malloc(&fixture, A, 1);
	fixture.stack = 8;
	send_malloc(&fixture, A + 16, 1);
	section = look(&fixture);
	assert_int_equal(section->stacks[0].frame_count, STACK_MAX_FRAMES);
	assert_int_equal(section->stacks[0].stop, STOP_DEPTH);
	assert_true(section->stacks[0].truncated);
	assert_int_equal(section->stacks[1].frame_count, 1);
	assert_int_equal(section->losses.stacks, 1);
	fixture_close(&fixture);
}

/* Allocates one byte from a stack with this ID, at an address of its own. */
static void send_from(struct model_fixture *fixture, uint64_t id)
{
	fixture->stack = id;
	send_malloc(fixture, id * 16, 1);
}

/* Equal frames under several IDs are one stack and one site. An ID keeps its first meaning. */
static void test_equal_stacks(void **state)
{
	static const uint64_t frames[] = {PROGRAM + 0x10, PROGRAM + 0x20, PROGRAM + 0x30};
	static const uint64_t others[] = {PROGRAM + 0x10, PROGRAM + 0x20, PROGRAM + 0x31};
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;

	(void)state;
	send_stack_end(&fixture, 1, frames, 3, EVENT_FLAG_TRUNCATED, STOP_DEPTH);
	send_stack_end(&fixture, 2, frames, 3, EVENT_FLAG_TRUNCATED, STOP_DEPTH);
	send_stack_end(&fixture, 1, frames, 3, EVENT_FLAG_TRUNCATED, STOP_DEPTH); /* sent again */
	send_stack_end(&fixture, 2, others, 3, 0, STOP_END); /* ignored: 2 is known */
	send_from(&fixture, 1);
	send_from(&fixture, 2);
	section = look(&fixture);
	assert_int_equal(section->site_count, 1);
	assert_int_equal(section->sites[0].live_bytes, 2);
	assert_int_equal(section->stack_count, 1);
	assert_int_equal(section->losses.truncated_stacks, 1);
	fixture_close(&fixture);
}

/* Stacks differ if their frames, length, end, guesses or mapped code differ. */
static void test_unequal_stacks(void **state)
{
	static const uint64_t frames[] = {PROGRAM + 0x10, PROGRAM + 0x20, PROGRAM + 0x30};
	static const uint64_t others[] = {PROGRAM + 0x10, PROGRAM + 0x20, PROGRAM + 0x31};
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_stack(&fixture, 1, frames, 3, 0);
	send_stack(&fixture, 2, others, 3, 0);
	send_stack(&fixture, 3, frames, 2, 0);
	send_stack_end(&fixture, 4, frames, 3, EVENT_FLAG_TRUNCATED, STOP_SIGNAL);
	send_stack(&fixture, 5, frames, 3, EVENT_FLAG_GUESSED);
	send_mapping(&fixture, 0x10000000, OBJECT_SIZE, 0, MODULE_PROGRAM, 0);
	send_stack(&fixture, 6, frames, 3, 0);
	for (uint64_t id = 1; id <= 6; id++)
		send_from(&fixture, id);
	assert_int_equal(look(&fixture)->site_count, 6);
	fixture_close(&fixture);
}

/* A stack that is announced after its calls stays separate. Later stacks with the same frames join
 * it. */
static void test_equal_to_late_stack(void **state)
{
	static const uint64_t frames[] = {PROGRAM + 0x10, PROGRAM + 0x20};
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_from(&fixture, 1);
	send_stack(&fixture, 1, frames, 2, 0);
	send_stack(&fixture, 2, frames, 2, 0);
	send_from(&fixture, 2);
	assert_int_equal(look(&fixture)->site_count, 1);
	assert_int_equal(look(&fixture)->stacks[0].frame_count, 2);
	fixture_close(&fixture);
}

static void test_quality(void **state)
{
	static const uint64_t frames[] = {PROGRAM + 0x10, PROGRAM + 0x20, PROGRAM + 0x30};
	struct model_fixture fixture = fixture_default();
	struct stack_quality quality;

	(void)state;
	send_stack(&fixture, 1, frames, 3, EVENT_FLAG_GUESSED);
	send_stack_end(&fixture, 2, frames, 2, EVENT_FLAG_TRUNCATED, STOP_DEPTH);
	send_stack_end(&fixture, 3, frames, 1, EVENT_FLAG_TRUNCATED, 0xffffff); /* no such reason */
	send_stack(&fixture, 4, frames + 1, 1, 0);                              /* never used */
	for (uint64_t id = 1; id <= 3; id++)
		send_from(&fixture, id);
	fixture.stack = 1;
	send_malloc(&fixture, A, 1);
	fixture.stack = 0;
	send_malloc(&fixture, A + 16, 1);
	snapshot_quality(look(&fixture), &quality);
	assert_int_equal(quality.stacks, 4);
	assert_int_equal(quality.complete, 1);
	assert_int_equal(quality.truncated, 2);
	assert_int_equal(quality.guessed, 1);
	assert_int_equal(quality.calls, 5);
	assert_int_equal(quality.complete_calls, 2);
	assert_int_equal(quality.by_reason[STOP_END], 1);
	assert_int_equal(quality.by_reason[STOP_DEPTH], 1);
	assert_int_equal(quality.by_reason[STOP_UNKNOWN], 1);
	assert_int_equal(quality.by_reason[STOP_NOT_TAKEN], 1);
	fixture_close(&fixture);
}

static void test_stop_names(void **state)
{
	(void)state;
	for (unsigned int a = 0; a < STOP_REASONS; a++)
		for (unsigned int b = 0; b < a; b++)
			assert_string_not_equal(stop_name(a), stop_name(b));
	assert_string_equal(stop_name(STOP_NOT_TAKEN), "none");
	assert_string_equal(stop_name(UINT32_MAX), stop_name(STOP_UNKNOWN));
}

#define PLUGIN     0x10000000ULL
#define MODULE_OLD 11
#define MODULE_NEW 12

/* The module of the frame of the site with this ID. */
static uint32_t module_of(struct model_fixture *fixture, size_t site, uint64_t *ret_offset)
{
	const struct snapshot_process *section = look(fixture);
	const struct snapshot_frame *frame = section->stacks[section->sites[site].stack].frames;

	*ret_offset = frame->offset;
	return frame->module_id;
}

/* dlclose, then another library at the same address: old stacks keep their names. */
static void test_replaced_mapping(void **state)
{
	static const uint64_t frame = PLUGIN + 0x5010;
	struct model_fixture fixture = fixture_default();
	uint64_t offset;

	(void)state;
	send_mapping(&fixture, PLUGIN, 0x10000, 0, MODULE_OLD, 0);
	send_stack(&fixture, 1, &frame, 1, 0);
	send_mapping(&fixture, PLUGIN + 0x4000, 0x4000, 0x9000, MODULE_NEW, 0);
	send_stack(&fixture, 2, &frame, 1, 0);
	for (fixture.stack = 1; fixture.stack <= 2; fixture.stack++)
		send_malloc(&fixture, fixture.stack * 16, 1);
	fixture.stack = 0;
	fixture.caller = PLUGIN + 0x10; /* parts of the old mapping remain on both sides */
	send_malloc(&fixture, 48, 1);
	fixture.caller = PLUGIN + 0x8010;
	send_malloc(&fixture, 64, 1);
	assert_int_equal(module_of(&fixture, 0, &offset), MODULE_OLD);
	assert_int_equal(offset, 0x5010);
	assert_int_equal(module_of(&fixture, 1, &offset), MODULE_NEW);
	assert_int_equal(offset, 0xa010);
	assert_int_equal(module_of(&fixture, 2, &offset), MODULE_OLD);
	assert_int_equal(offset, 0x10);
	assert_int_equal(module_of(&fixture, 3, &offset), MODULE_OLD);
	assert_int_equal(offset, 0x8010);
	fixture_close(&fixture);
}

/* Blocks of ld.so come before its mappings are known. The first of several later mappings
 * counts. */
static void test_late_mapping(void **state)
{
	struct model_fixture fixture = fixture_default();
	uint64_t offset;

	(void)state;
	fixture.caller = PLUGIN + 0x10;
	send_malloc(&fixture, A, 1);
	assert_int_equal(module_of(&fixture, 0, &offset), MODULE_NONE);
	send_mapping(&fixture, PLUGIN, 0x1000, 0, MODULE_OLD, 0);
	assert_int_equal(module_of(&fixture, 0, &offset), MODULE_OLD);
	send_mapping(&fixture, PLUGIN, 0x1000, 0, MODULE_NEW, 0);
	assert_int_equal(module_of(&fixture, 0, &offset), MODULE_OLD);
	fixture_close(&fixture);
}

/* A call that never returns can be the last instruction of its mapping. */
static void test_edges_of_mapping(void **state)
{
	struct model_fixture fixture = fixture_default();
	uint64_t offset;

	(void)state;
	send_mapping(&fixture, PLUGIN, 0x1000, 0, MODULE_OLD, 0);
	send_mapping(&fixture, PLUGIN + 0x1000, 0x1000, 0, MODULE_NEW, 0);
	send_mapping(&fixture, PLUGIN + 0x1800, 0, 0, MODULE_OLD, 0); /* empty: no effect */
	fixture.caller = PLUGIN + 0x1000;
	send_malloc(&fixture, A, 1);
	fixture.caller = PLUGIN + 0x1001;
	send_malloc(&fixture, A, 1);
	assert_int_equal(module_of(&fixture, 0, &offset), MODULE_OLD);
	assert_int_equal(offset, 0x1000);
	assert_int_equal(module_of(&fixture, 1, &offset), MODULE_NEW);
	assert_int_equal(offset, 1);
	fixture_close(&fixture);
}

/* A wrapper is removed with its mapping. Announcing the same mapping again has no effect. */
static void test_wrapper_of_replaced_mapping(void **state)
{
	struct model_fixture fixture = fixture_default();

	(void)state;
	send_mapping(&fixture, LIBSTDCXX, OBJECT_SIZE, 0, MODULE_LIBSTDCXX, 0);
	fixture.caller = OPERATOR_NEW + 1;
	send_malloc(&fixture, A, 1);
	send_mapping(&fixture, LIBSTDCXX, OBJECT_SIZE, 0, MODULE_NEW, 0);
	fixture.caller = OPERATOR_NEW + 2;
	send_malloc(&fixture, A + 16, 1);
	assert_int_equal(site_of(look(&fixture), API_NEW)->live_blocks, 1);
	assert_int_equal(site_of(look(&fixture), API_MALLOC)->live_blocks, 1);
	fixture_close(&fixture);
}

/* Compared with an array that has the mapping of each byte at each time. */
static void test_random_mappings(void **state)
{
	enum { SIZE = 64, CHANGES = 60 };
	static uint32_t history[CHANGES + 1][SIZE];
	struct model_fixture fixture = fixture_default();
	const struct snapshot_process *section;

	(void)state;
	srandom(5);
	for (uint64_t i = 0; i < SIZE; i++)
		history[0][i] = MODULE_NONE;
	for (uint32_t change = 1; change <= CHANGES; change++) {
		uint64_t frames[SIZE], start = (uint64_t)random() % SIZE;
		uint64_t size = 1 + (uint64_t)random() % (SIZE - start);

		send_mapping(&fixture, PLUGIN + start, size, 0, 100 + change, 0);
		memcpy(history[change], history[change - 1], sizeof(history[0]));
		for (uint64_t i = start; i < start + size; i++)
			history[change][i] = 100 + change;
		for (uint64_t i = 0; i < SIZE; i++)
			frames[i] = PLUGIN + i + 1; /* the call is one byte before */
		send_stack(&fixture, change, frames, SIZE, 0);
		fixture.stack = change;
		send_malloc(&fixture, 16 * change, 1);
	}
	section = look(&fixture);
	assert_int_equal(section->stack_count, CHANGES);
	for (uint32_t change = 1; change <= CHANGES; change++)
		for (uint64_t i = 0; i < SIZE; i++) {
			uint32_t moment = change;

			while (moment < CHANGES && history[moment][i] == MODULE_NONE)
				moment++;
			assert_int_equal(section->stacks[change - 1].frames[i].module_id,
					 history[moment][i]);
		}
	fixture_close(&fixture);
}

static void test_arena(void **state)
{
	struct snapshot *snapshot = snapshot_new();
	unsigned char *large;
	char text[16];

	(void)state;
	assert_non_null(snapshot_alloc(snapshot, 0));
	assert_null(snapshot_alloc(snapshot, SIZE_MAX));
	large = snapshot_alloc(snapshot, 1 << 20);
	for (size_t i = 0; i < 1 << 20; i++)
		assert_int_equal(large[i], 0);
	assert_null(snapshot_string(snapshot, NULL));
	for (int i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "%d", i % 10000);
		assert_string_equal(snapshot_string(snapshot, text), text);
	}
	assert_ptr_equal(snapshot_string(snapshot, "7"), snapshot_string(snapshot, "7"));
	assert_int_equal((uintptr_t)snapshot_alloc(snapshot, 3) % 16, 0);
	snapshot_free(snapshot);
	snapshot_free(NULL);
}

struct sort_case {
	enum sort_key key;
	const char *name;
	uint32_t ids[4]; /* expected order */
};

static const struct sort_case sort_cases[] = {
	{SORT_USAGE, "usage", {2, 0, 1, 3}},
	{SORT_ALLOCATIONS, "allocations", {1, 3, 0, 2}},
	{SORT_TOTAL, "total", {3, 1, 2, 0}},
	{SORT_AVERAGE, "average", {2, 3, 1, 0}},
	{SORT_AGE, "age", {1, 0, 2, 3}},
	{SORT_GROWTH, "growth", {1, 0, 2, 3}},
	{SORT_TSC, "tsc", {0, 1, 2, 3}},
	{SORT_LEAKS, "leaks", {2, 1, 0, 3}},
	{SORT_BYTES_LEAKED, "bytes-leaked", {2, 1, 0, 3}},
	{SORT_MISMATCHED, "mismatched", {3, 0, 1, 2}},
	{SORT_BADFREE, "badfree", {2, 3, 0, 1}},
};

_Static_assert(COUNT_OF(sort_cases) == SORT_COUNT, "every key is tested");

static void test_sort(void **state)
{
	struct snapshot_site sites[] = {
		{.id = 0,
		 .live_bytes = 5,
		 .allocations = 2,
		 .bytes_allocated = 10,
		 .oldest_ns = 9,
		 .mismatched = 1},
		{.id = 1, .live_bytes = 5, .allocations = 9, .bytes_allocated = 90, .oldest_ns = 3},
		{.id = 2,
		 .live_bytes = 7,
		 .allocations = 1,
		 .bytes_allocated = 50,
		 .oldest_ns = 9,
		 .bad_frees = 3},
		{.id = 3,
		 .allocations = 9,
		 .bytes_allocated = 100,
		 .mismatched = 2,
		 .bad_frees = 1},
	};
	struct snapshot_process processes[] = {{.sites = sites, .site_count = 4}, {.pid = 1}};
	struct snapshot snapshot = {.processes = processes, .process_count = 2};
	enum sort_key key;

	(void)state;
	sites[1].growth = (struct growth){.grows = true, .slope = 0.1};
	sites[1].leaks.classes[LEAK_DEFINITE] = (struct snapshot_sum){1, 90};
	sites[2].leaks.classes[LEAK_DEFINITE] = (struct snapshot_sum){2, 80};
	sites[2].leaks.classes[LEAK_INDIRECT] = (struct snapshot_sum){1, 11};
	sites[3].leaks.classes[LEAK_POSSIBLE] = (struct snapshot_sum){9, 900};
	for (size_t i = 0; i < COUNT_OF(sort_cases); i++) {
		assert_string_equal(sort_key_name(sort_cases[i].key), sort_cases[i].name);
		assert_int_equal(sort_key_parse(sort_cases[i].name, &key), 0);
		assert_int_equal(key, sort_cases[i].key);
		snapshot_sort(&snapshot, key);
		for (size_t j = 0; j < 4; j++)
			assert_int_equal(sites[j].id, sort_cases[i].ids[j]);
	}
	assert_int_equal(sort_key_parse("Usage", &key), -EINVAL);
	assert_int_equal(sort_key_parse("", &key), -EINVAL);
}

struct asked {
	size_t names, modules, done, total;
};

/* Offset 0x1010 is an inlined call in "outer"; 0x2030 has no name; all others have a name of their
 * own. */
static size_t resolve_name(uint64_t offset, struct frame_name names[2])
{
	static char text[32]; /* valid until the next call */

	if (offset == 0x2030)
		return 0;
	if (offset == 0x1010) {
		names[0] = (struct frame_name){"inner", "a.h", 3, true};
		names[1] = (struct frame_name){"outer", "a.c", 30, false};
		return 2;
	}
	snprintf(text, sizeof(text), "f%llx", (unsigned long long)offset);
	names[0] = (struct frame_name){text, NULL, 0, false};
	return 1;
}

static void resolve_names(void *ctx, uint32_t module_id, const uint64_t *offsets, size_t count,
			  frame_names_taker *take, void *take_ctx)
{
	struct asked *asked = ctx;
	struct frame_name names[2];

	assert_true(module_id != MODULE_NONE && count > 0);
	asked->names += count;
	for (size_t i = 0; i < count; i++) {
		size_t named = resolve_name(offsets[i], names);

		assert_true(!i || offsets[i] > offsets[i - 1]);
		if (named)
			take(take_ctx, i, names, named);
	}
}

static void resolve_module(void *ctx, uint32_t module_id, const char **ret_path,
			   const char **ret_build_id)
{
	struct asked *asked = ctx;

	asked->modules++;
	*ret_path = module_id == MODULE_LIBC ? "/lib/libc.so.6" : "/bin/target";
	*ret_build_id = module_id == MODULE_LIBC ? "abcd" : NULL;
}

static void resolve_progress(void *ctx, size_t done, size_t total)
{
	struct asked *asked = ctx;

	asked->done = done;
	asked->total = total;
}

static struct resolver resolver_of(struct asked *asked)
{
	return (struct resolver){.names = resolve_names,
				 .module = resolve_module,
				 .progress = resolve_progress,
				 .ctx = asked};
}

/* Two stacks that differ only in the first frame, and another process that has both. */
static struct model_fixture fixture_to_resolve(void)
{
	static const uint64_t frames[][4] = {
		{PROGRAM + 0x10, PROGRAM + 0x20, LIBC + 0x30, 0x99},
		{PROGRAM + 0x50, PROGRAM + 0x20, LIBC + 0x30, 0x99},
	};
	struct model_fixture fixture = fixture_default();

	for (int process = 0; process < 2; process++) {
		if (process) {
			fixture.pid++;
			send_process(&fixture, EVENT_PROCESS, START_TIME);
			send_objects(&fixture);
		}
		for (uint64_t i = 0; i < 2; i++) {
			send_stack(&fixture, i + 1, frames[i], 4, 0);
			fixture.stack = i + 1;
			send_malloc(&fixture, A + 16 * i, 1);
		}
	}
	return fixture;
}

static void check_first_stack(const struct snapshot_stack *stack)
{
	const struct snapshot_frame *frames = stack->frames;

	assert_int_equal(stack->frame_count, 5);
	assert_string_equal(frames[0].function, "inner");
	assert_true(frames[0].inlined);
	assert_int_equal(frames[0].address, PROGRAM + 0x10);
	assert_int_equal(frames[0].offset, 0x1010);
	assert_int_equal(frames[0].line, 3);
	assert_string_equal(frames[1].function, "outer");
	assert_string_equal(frames[1].file, "a.c");
	assert_false(frames[1].inlined);
	assert_int_equal(frames[1].address, PROGRAM + 0x10);
	assert_string_equal(frames[2].function, "f1020");
	assert_string_equal(frames[2].module, "/bin/target");
	assert_null(frames[2].build_id);
	assert_null(frames[3].function);
	assert_string_equal(frames[3].module, "/lib/libc.so.6");
	assert_string_equal(frames[3].build_id, "abcd");
	assert_null(frames[4].module);
}

static void test_resolve(void **state)
{
	struct model_fixture fixture = fixture_to_resolve();
	struct asked asked = {0};
	struct resolver resolver = resolver_of(&asked);

	(void)state;
	fixture_snapshot(&fixture);
	assert_int_equal(snapshot_resolve(fixture.snapshot, &resolver, 0), 0);
	assert_int_equal(asked.names, 4); /* distinct places */
	assert_int_equal(asked.modules, 2);
	assert_int_equal(asked.done, 4);
	assert_int_equal(asked.total, 4);
	for (size_t i = 0; i < 2; i++) {
		check_first_stack(&fixture.snapshot->processes[i].stacks[0]);
		assert_int_equal(fixture.snapshot->processes[i].stacks[1].frame_count, 4);
	}
	/* The second time, there is nothing left to do. */
	assert_int_equal(snapshot_resolve(fixture.snapshot, &resolver, 0), 0);
	assert_int_equal(asked.names, 4);
	check_first_stack(&fixture.snapshot->processes[0].stacks[0]);
	fixture_close(&fixture);
}

static void test_resolve_top(void **state)
{
	struct model_fixture fixture = fixture_to_resolve();
	struct asked asked = {0};
	struct resolver resolver = resolver_of(&asked);
	const struct snapshot_stack *stacks;

	(void)state;
	fixture_snapshot(&fixture);
	resolver.progress = NULL;
	assert_int_equal(snapshot_resolve(fixture.snapshot, &resolver, 1), 0);
	stacks = fixture.snapshot->processes[0].stacks;
	check_first_stack(&stacks[0]);
	assert_null(stacks[1].frames[0].module);
	assert_int_equal(asked.names, 3);
	assert_int_equal(snapshot_resolve(fixture.snapshot, &resolver, 2), 0);
	check_first_stack(&stacks[0]);
	assert_string_equal(stacks[1].frames[0].function, "f1050");
	fixture_close(&fixture);
}

/* The ends of truncated stacks are known, whether or not their frames are named. */
static void test_resolve_ends(void **state)
{
	static const uint64_t frames[] = {PROGRAM + 0x10, LIBC + 0x30, 0x99};
	struct model_fixture fixture = fixture_default();
	struct asked asked = {0};
	struct resolver resolver = resolver_of(&asked);
	const struct snapshot_stack *stacks;

	(void)state;
	send_stack(&fixture, 1, frames, 2, 0);
	send_stack_end(&fixture, 2, frames, 2, EVENT_FLAG_TRUNCATED, STOP_NO_TABLE);
	send_stack_end(&fixture, 3, frames, 3, EVENT_FLAG_TRUNCATED, STOP_NO_TABLE);
	for (uint64_t id = 1; id <= 3; id++)
		send_from(&fixture, id);
	fixture_snapshot(&fixture);
	assert_int_equal(snapshot_resolve(fixture.snapshot, &resolver, 1), 0);
	stacks = fixture.snapshot->processes[0].stacks;
	assert_null(stacks[0].end_module);
	assert_null(stacks[1].frames[1].module);
	assert_string_equal(stacks[1].end_module, "/lib/libc.so.6");
	assert_null(stacks[2].end_module);
	fixture_close(&fixture);
}

static void test_resolve_nothing(void **state)
{
	struct snapshot *snapshot = snapshot_new();
	struct asked asked = {0};
	struct resolver resolver = resolver_of(&asked);

	(void)state;
	assert_int_equal(snapshot_resolve(snapshot, &resolver, 0), 0);
	assert_int_equal(asked.names, 0);
	snapshot_free(snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_without_stack),
		cmocka_unit_test(test_unannounced_stack),
		cmocka_unit_test(test_invalid_stacks),
		cmocka_unit_test(test_equal_stacks),
		cmocka_unit_test(test_unequal_stacks),
		cmocka_unit_test(test_equal_to_late_stack),
		cmocka_unit_test(test_quality),
		cmocka_unit_test(test_stop_names),
		cmocka_unit_test(test_replaced_mapping),
		cmocka_unit_test(test_late_mapping),
		cmocka_unit_test(test_edges_of_mapping),
		cmocka_unit_test(test_wrapper_of_replaced_mapping),
		cmocka_unit_test(test_random_mappings),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_resolve_top),
		cmocka_unit_test(test_resolve_ends),
		cmocka_unit_test(test_resolve_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
