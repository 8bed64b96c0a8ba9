/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model with one process, and short functions that send it events and read its reports. The
 * process has a program, a C library (which is an allocator) and operator new in a third object.
 * Its clock advances by 1 ms with every event.
 */
#ifndef MTRACE_TEST_BOOKS_H
#define MTRACE_TEST_BOOKS_H

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

struct books {
	struct model *model;
	struct snapshot *snapshot; /* taken by the last look */
	uint64_t now_ns;
	uint32_t pid;
	/* Attached to the following calls: */
	uint32_t tid;
	uint64_t caller;
	uint64_t stack;
};

static inline void tell(struct books *books, struct event event)
{
	books->now_ns += MS;
	event.pid = books->pid;
	event.tid = books->tid;
	event.time_ns = books->now_ns;
	assert_int_equal(model_event(books->model, &event), 0);
}

static inline void tell_losses(struct books *books, const struct snapshot_losses *losses)
{
	tell(books, (struct event){.kind = EVENT_LOSSES, .losses = losses});
}

static inline void tell_process(struct books *books, enum event_kind kind, uint64_t start_time)
{
	static const char *const command[] = {"target", "-x", NULL};

	tell(books, (struct event){.kind = kind,
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

static inline void tell_exit(struct books *books)
{
	tell(books, (struct event){.kind = EVENT_EXIT});
}

/* From now on, the child has this pid. books->tid is the thread that forks. */
static inline void tell_fork(struct books *books, uint32_t child, uint64_t start_time, bool shares)
{
	struct event event = {.kind = EVENT_FORK,
			      .pid = child,
			      .tid = books->tid,
			      .fork = {.parent = books->pid,
				       .start_time_ns = start_time,
				       .shares_memory = shares,
				       .comm = "child"}};

	books->now_ns += MS;
	event.time_ns = books->now_ns;
	assert_int_equal(model_event(books->model, &event), 0);
}

/* The following events belong to the first thread of this process. */
static inline void books_turn(struct books *books, uint32_t pid)
{
	books->pid = books->tid = pid;
}

static inline void tell_mapping(struct books *books, uint64_t start, uint64_t size, uint64_t offset,
				uint32_t module, uint32_t flags)
{
	tell(books, (struct event){.kind = EVENT_MAPPING,
				   .mapping = {start, start + size, offset, module, flags}});
}

static inline void tell_wrapper(struct books *books, uint64_t start, enum api api)
{
	tell(books, (struct event){.kind = EVENT_WRAPPER,
				   .wrapper = {start, start + OPERATOR_NEW_SIZE, api}});
}

static inline void tell_objects(struct books *books)
{
	tell_mapping(books, PROGRAM, OBJECT_SIZE, 0x1000, MODULE_PROGRAM, 0);
	tell_mapping(books, LIBC, OBJECT_SIZE, 0x2000, MODULE_LIBC, MAPPING_FLAG_ALLOCATOR);
	tell_mapping(books, LIBSTDCXX, OBJECT_SIZE, 0, MODULE_LIBSTDCXX, 0);
	tell_wrapper(books, OPERATOR_NEW, API_NEW);
}

static inline struct books books_open(struct model_config config)
{
	struct books books = {.pid = PID, .tid = PID, .caller = PROGRAM + 0x10};

	assert_int_equal(model_new(&books.model, &config), 0);
	tell_process(&books, EVENT_PROCESS, START_TIME);
	tell_objects(&books);
	return books;
}

static inline struct books books_default(void)
{
	return books_open((struct model_config){.apis = API_SET_ALL, .wrappers = true});
}

static inline void books_close(struct books *books)
{
	snapshot_free(books->snapshot);
	model_free(books->model);
}

static inline void tell_stack_end(struct books *books, uint64_t id, const uint64_t *frames,
				  uint32_t count, uint16_t flags, uint32_t stop)
{
	tell(books, (struct event){.kind = EVENT_STACK,
				   .flags = flags,
				   .stack = {id, frames, count, stop}});
}

static inline void tell_stack(struct books *books, uint64_t id, const uint64_t *frames,
			      uint32_t count, uint16_t flags)
{
	tell_stack_end(books, id, frames, count, flags, STOP_END);
}

static inline void tell_call(struct books *books, enum event_kind kind, enum api api,
			     uint16_t flags, uint64_t address, uint64_t size)
{
	tell(books, (struct event){.kind = kind,
				   .api = api,
				   .flags = flags,
				   .call = {.address = address,
					    .size = size,
					    .caller = books->caller,
					    .stack = books->stack}});
}

static inline void tell_malloc(struct books *books, uint64_t address, uint64_t size)
{
	tell_call(books, EVENT_ALLOC, API_MALLOC, 0, address, size);
}

static inline void tell_free(struct books *books, uint64_t address)
{
	tell_call(books, EVENT_FREE, API_FREE, 0, address, 0);
}

struct arguments {
	uint64_t at[RECORD_BEGIN_ARGS];
};
#define ARGUMENTS(...) ((struct arguments){{__VA_ARGS__}})

static inline void tell_begin(struct books *books, enum api api, struct arguments arguments)
{
	struct event event = {.kind = EVENT_BEGIN, .api = api, .call = {.caller = books->caller}};

	memcpy(event.call.args, arguments.at, sizeof(arguments.at));
	tell(books, event);
}

static inline void tell_end(struct books *books, enum api api, uint64_t result, uint64_t size)
{
	tell_call(books, EVENT_END, api, 0, result, size);
}

static inline void tell_failed(struct books *books, enum api api, uint64_t size)
{
	tell_call(books, EVENT_END, api, EVENT_FLAG_FAILED, 0, size);
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

static inline void books_look(struct books *books)
{
	snapshot_free(books->snapshot);
	books->snapshot = NULL;
	assert_int_equal(model_snapshot(books->model, books->now_ns, &books->snapshot), 0);
	for (size_t i = 0; i < books->snapshot->process_count; i++)
		check_section(&books->snapshot->processes[i]);
}

/* The newest section; valid until the next look. */
static inline const struct snapshot_process *look(struct books *books)
{
	books_look(books);
	return &books->snapshot->processes[books->snapshot->process_count - 1];
}

/* The newest section of a pid; NULL if there is none. Valid until the next look. */
static inline const struct snapshot_process *look_at(struct books *books, uint32_t pid)
{
	const struct snapshot_process *found = NULL;

	books_look(books);
	for (size_t i = 0; i < books->snapshot->process_count; i++)
		if (books->snapshot->processes[i].pid == pid)
			found = &books->snapshot->processes[i];
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
