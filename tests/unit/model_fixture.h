/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model with one process, and short functions that send it events and read its reports. The
 * process has a program, a C library (which is an allocator) and operator new in a third object.
 * Its clock advances by 1 ms with every event.
 */
#ifndef MTRACE_TEST_MODEL_FIXTURE_H
#define MTRACE_TEST_MODEL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"

#define PID                100
#define START_TIME         77
#define PROGRAM            0x400000ULL
#define LIBC               0x7f0000000000ULL
#define LIBSTDCXX          0x7e0000000000ULL
#define OBJECT_SIZE        0x100000ULL
#define OPERATOR_NEW       (LIBSTDCXX + 0x1000)
#define OPERATOR_NEW_SIZE  0x40ULL
#define OPERATOR_NEW_ARRAY (LIBSTDCXX + 0x2000)
#define MS                 1000000ULL

enum { MODULE_PROGRAM = 1, MODULE_LIBC, MODULE_LIBSTDCXX };

struct model_fixture {
	struct model *model;
	struct snapshot *snapshot; /* taken by the last look */
	uint64_t now_ns;
	uint32_t pid;
	/* Attached to the following calls: */
	uint32_t tid;
	uint64_t caller;
	uint64_t stack;
};

static inline void send_event(struct model_fixture *fixture, struct event event)
{
	fixture->now_ns += MS;
	event.pid = fixture->pid;
	event.tid = fixture->tid;
	event.time_ns = fixture->now_ns;
	assert_int_equal(model_event(fixture->model, &event), 0);
}

static inline void send_losses(struct model_fixture *fixture, const struct snapshot_losses *losses)
{
	send_event(fixture, (struct event){.kind = EVENT_LOSSES, .losses = losses});
}

static inline void send_process(struct model_fixture *fixture, enum event_kind kind,
				uint64_t start_time)
{
	static const char *const command[] = {"target", "-x", NULL};

	send_event(fixture, (struct event){.kind = kind,
					   .process = {.start_time_ns = start_time,
						       .ppid = 1,
						       .comm = "target",
						       .exe = "/bin/target",
						       .command = command,
						       .arch = "x86_64",
						       .inner_pid = 12,
						       .cgroup = "/docker/id",
						       .container = "id"}});
}

static inline void send_exit(struct model_fixture *fixture)
{
	send_event(fixture, (struct event){.kind = EVENT_EXIT});
}

/* From now on, the child has this pid. fixture->tid is the thread that forks. */
static inline void send_fork(struct model_fixture *fixture, uint32_t child, uint64_t start_time,
			     bool shares)
{
	struct event event = {.kind = EVENT_FORK,
			      .pid = child,
			      .tid = fixture->tid,
			      .fork = {.parent = fixture->pid,
				       .start_time_ns = start_time,
				       .shares_memory = shares,
				       .comm = "child"}};

	fixture->now_ns += MS;
	event.time_ns = fixture->now_ns;
	assert_int_equal(model_event(fixture->model, &event), 0);
}

/* The following events belong to the first thread of this process. */
static inline void fixture_switch_to(struct model_fixture *fixture, uint32_t pid)
{
	fixture->pid = fixture->tid = pid;
}

static inline void send_mapping(struct model_fixture *fixture, uint64_t start, uint64_t size,
				uint64_t offset, uint32_t module, uint32_t flags)
{
	send_event(fixture,
		   (struct event){.kind = EVENT_MAPPING,
				  .mapping = {start, start + size, offset, module, flags}});
}

static inline void send_wrapper(struct model_fixture *fixture, uint64_t start, enum api api)
{
	send_event(fixture, (struct event){.kind = EVENT_WRAPPER,
					   .wrapper = {start, start + OPERATOR_NEW_SIZE, api}});
}

static inline void send_objects(struct model_fixture *fixture)
{
	send_mapping(fixture, PROGRAM, OBJECT_SIZE, 0x1000, MODULE_PROGRAM, 0);
	send_mapping(fixture, LIBC, OBJECT_SIZE, 0x2000, MODULE_LIBC, MAPPING_FLAG_ALLOCATOR);
	send_mapping(fixture, LIBSTDCXX, OBJECT_SIZE, 0, MODULE_LIBSTDCXX, 0);
	send_wrapper(fixture, OPERATOR_NEW, API_NEW);
}

static inline struct model_fixture fixture_open(struct model_config config)
{
	struct model_fixture fixture = {.pid = PID, .tid = PID, .caller = PROGRAM + 0x10};

	assert_int_equal(model_new(&fixture.model, &config), 0);
	send_process(&fixture, EVENT_PROCESS, START_TIME);
	send_objects(&fixture);
	return fixture;
}

static inline struct model_fixture fixture_default(void)
{
	return fixture_open((struct model_config){.apis = API_SET_ALL, .wrappers = true});
}

static inline void fixture_close(struct model_fixture *fixture)
{
	snapshot_free(fixture->snapshot);
	model_free(fixture->model);
}

static inline void send_stack_end(struct model_fixture *fixture, uint64_t id,
				  const uint64_t *frames, uint32_t count, uint16_t flags,
				  uint32_t stop)
{
	send_event(fixture, (struct event){.kind = EVENT_STACK,
					   .flags = flags,
					   .stack = {id, frames, count, stop}});
}

static inline void send_stack(struct model_fixture *fixture, uint64_t id, const uint64_t *frames,
			      uint32_t count, uint16_t flags)
{
	send_stack_end(fixture, id, frames, count, flags, STOP_END);
}

static inline void send_call(struct model_fixture *fixture, enum event_kind kind, enum api api,
			     uint16_t flags, uint64_t address, uint64_t size)
{
	send_event(fixture, (struct event){.kind = kind,
					   .api = api,
					   .flags = flags,
					   .call = {.address = address,
						    .size = size,
						    .caller = fixture->caller,
						    .stack = fixture->stack}});
}

static inline void send_malloc(struct model_fixture *fixture, uint64_t address, uint64_t size)
{
	send_call(fixture, EVENT_ALLOC, API_MALLOC, 0, address, size);
}

static inline void send_free(struct model_fixture *fixture, uint64_t address)
{
	send_call(fixture, EVENT_FREE, API_FREE, 0, address, 0);
}

struct arguments {
	uint64_t at[RECORD_BEGIN_ARGS];
};
#define ARGUMENTS(...) ((struct arguments){{__VA_ARGS__}})

static inline void send_begin(struct model_fixture *fixture, enum api api,
			      struct arguments arguments)
{
	struct event event = {.kind = EVENT_BEGIN, .api = api, .call = {.caller = fixture->caller}};

	memcpy(event.call.args, arguments.at, sizeof(arguments.at));
	send_event(fixture, event);
}

static inline void send_end(struct model_fixture *fixture, enum api api, uint64_t result,
			    uint64_t size)
{
	send_call(fixture, EVENT_END, api, 0, result, size);
}

static inline void send_failed(struct model_fixture *fixture, enum api api, uint64_t size)
{
	send_call(fixture, EVENT_END, api, EVENT_FLAG_FAILED, 0, size);
}

/* What holds for every section, whatever the target did. */
static inline void check_section(const struct snapshot_process *section)
{
	uint64_t allocations = 0, frees = 0, bytes = 0, failed = 0, blocks = 0, live = 0;
	uint64_t maps = 0, map_bytes = 0;
	struct snapshot_sum inherited = {0};

	for (size_t i = 0; i < section->site_count; i++) {
		const struct snapshot_site *site = &section->sites[i];

		assert_true(site->stack < section->stack_count);
		assert_int_equal(site->allocations + site->inherited_blocks,
				 site->frees + site->live_blocks);
		assert_true(site->peak_live_bytes >= site->live_bytes);
		assert_int_equal(!!site->oldest_ns, !!site->live_blocks);
		if (api_row(site->api)->family == FAMILY_HEAP) {
			allocations += site->allocations;
			frees += site->frees;
			bytes += site->bytes_allocated;
			failed += site->failed_allocations;
			blocks += site->live_blocks;
			live += site->live_bytes;
			inherited.blocks += site->inherited_blocks;
			inherited.bytes += site->inherited_bytes;
		} else if (site->api != API_MMAP_LIBC) {
			maps += site->live_blocks;
			map_bytes += site->live_bytes;
		}
	}
	assert_int_equal(section->totals.allocations, allocations);
	assert_int_equal(section->totals.frees, frees);
	assert_int_equal(section->totals.bytes_allocated, bytes);
	assert_int_equal(section->inherited.blocks, inherited.blocks);
	assert_int_equal(section->inherited.bytes, inherited.bytes);
	assert_int_equal(section->totals.bytes_freed, bytes + inherited.bytes - live);
	assert_int_equal(section->totals.failed_allocations, failed);
	assert_int_equal(section->live.blocks, blocks);
	assert_int_equal(section->live.bytes, live);
	assert_true(section->totals.peak_live_bytes >= live);
	assert_int_equal(section->mappings.maps, maps);
	assert_int_equal(section->mappings.bytes, map_bytes);
}

static inline void fixture_snapshot(struct model_fixture *fixture)
{
	snapshot_free(fixture->snapshot);
	fixture->snapshot = NULL;
	assert_int_equal(model_snapshot(fixture->model, fixture->now_ns, &fixture->snapshot), 0);
	for (size_t i = 0; i < fixture->snapshot->process_count; i++)
		check_section(&fixture->snapshot->processes[i]);
}

/* The newest section; valid until the next look. */
static inline const struct snapshot_process *look(struct model_fixture *fixture)
{
	fixture_snapshot(fixture);
	return &fixture->snapshot->processes[fixture->snapshot->process_count - 1];
}

/* The newest section of a pid; NULL if there is none. Valid until the next look. */
static inline const struct snapshot_process *look_at(struct model_fixture *fixture, uint32_t pid)
{
	const struct snapshot_process *found = NULL;

	fixture_snapshot(fixture);
	for (size_t i = 0; i < fixture->snapshot->process_count; i++)
		if (fixture->snapshot->processes[i].pid == pid)
			found = &fixture->snapshot->processes[i];
	return found;
}

/* The only site of an api; NULL if there is none. */
static inline const struct snapshot_site *site_of(const struct snapshot_process *section,
						  enum api api)
{
	const struct snapshot_site *found = NULL;

	for (size_t i = 0; i < section->site_count; i++) {
		if (section->sites[i].api != api)
			continue;
		assert_null(found);
		found = &section->sites[i];
	}
	return found;
}

#endif
