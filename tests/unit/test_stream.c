/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream says what was told, in bytes that are the same on every machine; and of any other bytes
 * it says that they are none, up to where they were right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map64.h"
#include "net/event_code.h"
#include "net/stream.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What was told, in words, so that it can be compared. */
struct log {
	char text[65536];
	size_t used;
	int refuse; /* what the next event is answered with */
};

static void note(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct log *log, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(log->text + log->used, sizeof(log->text) - log->used, format, args);
	va_end(args);
	assert_true(length >= 0 && (size_t)length < sizeof(log->text) - log->used);
	log->used += (size_t)length;
}

#define ULL(x) ((unsigned long long)(x))

static const char *or_none(const char *text)
{
	return text ? text : "-";
}

static int on_settings(void *ctx, const struct stream_settings *settings)
{
	note(ctx, "settings %x %d%d%d%d%d %llu %llu %llu %s %s\n", settings->apis,
	     settings->wrappers, settings->sanity, settings->omits, settings->scans,
	     settings->ends_unseen, ULL(settings->page_size), ULL(settings->begun_ns),
	     ULL(settings->begun_at_ms), or_none(settings->version), or_none(settings->backend));
	return 0;
}

static int on_module(void *ctx, const struct stream_module *module)
{
	note(ctx, "module %u %s %s %llu %u %d%d%d", module->id, module->path,
	     or_none(module->build_id), ULL(module->size), module->machine, module->elf64,
	     module->big_endian, module->executable);
	for (uint32_t i = 0; i < module->segment_count; i++)
		note(ctx, " %llx %llx %llx %d", ULL(module->segments[i].offset),
		     ULL(module->segments[i].vaddr), ULL(module->segments[i].size),
		     module->segments[i].executable);
	note(ctx, "\n");
	return 0;
}

static void note_process(struct log *log, const struct event_process *process)
{
	note(log, " %llu %u %u %d %d %s %s %s %s %s", ULL(process->start_time_ns), process->ppid,
	     process->inner_pid, process->origin, process->from_start, or_none(process->comm),
	     or_none(process->exe), or_none(process->arch), or_none(process->cgroup),
	     or_none(process->container));
	for (const char *const *word = process->command; word && *word; word++)
		note(log, " [%s]", *word);
}

static void note_call(struct log *log, const struct event *event)
{
	const struct event_call *call = &event->call;

	note(log, " api %d %llx %llx %llx %llx %llx", event->api, ULL(call->address),
	     ULL(call->size), ULL(call->slack), ULL(call->caller), ULL(call->stack));
	for (size_t i = 0; i < RECORD_BEGIN_ARGS; i++)
		note(log, " %llx", ULL(call->args[i]));
}

static void note_stack(struct log *log, const struct event_stack *stack)
{
	note(log, " %llx %u:", ULL(stack->id), stack->stop);
	for (uint32_t i = 0; i < stack->count; i++)
		note(log, " %llx", ULL(stack->frames[i]));
}

static void note_losses(struct log *log, const struct snapshot_losses *losses)
{
	const uint64_t *counts = (const uint64_t *)losses;

	for (size_t i = 0; i < sizeof(*losses) / sizeof(*counts); i++)
		note(log, " %llu", ULL(counts[i]));
}

static int on_event(void *ctx, const struct event *event)
{
	struct log *log = ctx;

	note(log, "event %d flags %x %u/%u @%llu", event->kind, event->flags, event->pid,
	     event->tid, ULL(event->time_ns));
	if (event->kind == EVENT_PROCESS || event->kind == EVENT_EXEC)
		note_process(log, &event->process);
	else if (event->kind == EVENT_FORK)
		note(log, " %u %llu %d %s", event->fork.parent, ULL(event->fork.start_time_ns),
		     event->fork.shares_memory, or_none(event->fork.comm));
	else if (event->kind == EVENT_EXIT)
		note(log, " %u", event->exit.code);
	else if (event->kind == EVENT_LOSSES)
		note_losses(log, event->losses);
	else if (event->kind == EVENT_MAPPING)
		note(log, " %llx %llx %llx %x %x", ULL(event->mapping.start),
		     ULL(event->mapping.end), ULL(event->mapping.offset), event->mapping.module,
		     event->mapping.flags);
	else if (event->kind == EVENT_WRAPPER)
		note(log, " %llx %llx %d", ULL(event->wrapper.start), ULL(event->wrapper.end),
		     event->wrapper.api);
	else if (event->kind == EVENT_STACK)
		note_stack(log, &event->stack);
	else if (event->kind >= EVENT_ALLOC)
		note_call(log, event);
	note(log, "\n");
	return log->refuse;
}

static void note_sums(struct log *log, const struct snapshot_sum *sums)
{
	for (int leak = 0; leak < LEAK_CLASS_COUNT; leak++)
		note(log, " %llu,%llu", ULL(sums[leak].blocks), ULL(sums[leak].bytes));
}

static int on_scan_site(void *ctx, const struct stream_scan_site *site)
{
	note(ctx, "site %u %u %u %llu", site->books, site->site, site->api,
	     ULL(site->first_seen_ns));
	note_sums(ctx, site->leaks.classes);
	note(ctx, " %llu %llu", ULL(site->leaks.oldest_ns), ULL(site->leaks.youngest_ns));
	for (int leak = 0; leak < LEAK_CLASS_COUNT; leak++) {
		const struct snapshot_example *example = &site->leaks.examples[leak];

		if (example->address)
			note(ctx, " %d: %llx %llu %d %llu %llu %u %02x%02x", leak,
			     ULL(example->address), ULL(example->size), example->looked,
			     ULL(example->resident), ULL(example->swapped), example->read,
			     example->bytes[0], example->bytes[EXAMPLE_BYTES - 1]);
	}
	note(ctx, "\n");
	return 0;
}

static int on_scan(void *ctx, const struct stream_scan *told)
{
	const struct snapshot_scan *scan = &told->scan;

	note(ctx, "scan %u %u %s %d %u %llu %llu %llu %llu %llu %llu %llu", told->books,
	     told->sites, or_none(scan->reason), scan->live, scan->passes, ULL(scan->taken_ns),
	     ULL(scan->pause_ns), ULL(scan->duration_ns), ULL(scan->bytes_scanned),
	     ULL(scan->bytes_unreadable), ULL(scan->bytes_between), ULL(scan->bytes_free));
	note_sums(ctx, scan->classes);
	note(ctx, "\n");
	return 0;
}

static int on_unprobed(void *ctx)
{
	note(ctx, "unprobed\n");
	return 0;
}

static int on_end(void *ctx, const struct stream_end *end)
{
	note(ctx, "end %llu %llu %llu %s\n", ULL(end->events), ULL(end->taken_ns),
	     ULL(end->taken_at_ms), or_none(end->failure));
	return 0;
}

static struct stream_handler handler_of(struct log *log)
{
	return (struct stream_handler){
		.settings = on_settings,
		.module = on_module,
		.event = on_event,
		.scan_site = on_scan_site,
		.scan = on_scan,
		.unprobed = on_unprobed,
		.end = on_end,
		.ctx = log,
	};
}

static const uint64_t frames[] = {0x7f0000001234, 0x7f0000000010, 0x400100, ~0ULL,
				  0x8000000000400200};
static const char *const command[] = {"prog", "", "-x \xff\n", NULL};
static const struct snapshot_losses losses = {1, 2, 3, 4, 5, 6, ~0ULL, 8, 9, 10};

/* Something of every kind; most of the extremes. */
static const struct event events[] = {
	{.kind = EVENT_PROCESS,
	 .pid = 4000000000,
	 .tid = 4000000000,
	 .time_ns = 1234567890123,
	 .process = {.start_time_ns = 77,
		     .ppid = 1,
		     .inner_pid = 5,
		     .origin = ORIGIN_LAUNCHED,
		     .from_start = true,
		     .comm = "prog",
		     .exe = "/bin/prog",
		     .command = command,
		     .arch = "x86_64",
		     .container = "c"}},
	{.kind = EVENT_MAPPING,
	 .pid = 4000000000,
	 .tid = 1,
	 .mapping = {0x400000, 0x500000, 0x1000, 7, MAPPING_FLAG_ALLOCATOR}},
	{.kind = EVENT_MAPPING, .pid = 7, .mapping = {1, ~0ULL, ~0ULL, MODULE_NONE, 0}},
	{.kind = EVENT_WRAPPER, .pid = 7, .wrapper = {0x1000, 0x1040, API_NEW_ARRAY}},
	{.kind = EVENT_STACK,
	 .pid = 7,
	 .flags = EVENT_FLAG_TRUNCATED | EVENT_FLAG_GUESSED,
	 .stack = {0xfedcba9876543210, frames, COUNT(frames), STOP_SLICE}},
	{.kind = EVENT_STACK, .pid = 7, .stack = {1, frames, 0, STOP_END}},
	{.kind = EVENT_ALLOC,
	 .api = API_MALLOC,
	 .pid = 7,
	 .tid = 8,
	 .time_ns = 5,
	 .call = {.address = 0x1000, .size = 100, .caller = 0x400100, .stack = 1}},
	{.kind = EVENT_ALLOC,
	 .api = API_MALLOC,
	 .pid = 7,
	 .tid = 8,
	 .time_ns = 5,
	 .call = {.address = 0x2000, .size = 0, .caller = 0x400100, .stack = 1}},
	{.kind = EVENT_ALLOC,
	 .api = API_CALLOC,
	 .pid = 7,
	 .tid = 8,
	 .time_ns = 4,
	 .flags = EVENT_FLAG_FAILED,
	 .call = {.size = ~0ULL, .slack = 3, .caller = 0x400100, .stack = ~0ULL, .args = {1, 2}}},
	{.kind = EVENT_FREE,
	 .api = API_FREE,
	 .pid = 7,
	 .tid = 8,
	 .call = {.address = 0x1000, .size = SIZE_UNTOLD}},
	{.kind = EVENT_FREE,
	 .api = API_DELETE,
	 .pid = 7,
	 .tid = 9,
	 .flags = EVENT_FLAG_NESTED | RECORD_FLAG_OPERATOR(API_DELETE_ARRAY),
	 .call = {.address = ~0ULL, .size = 0, .slack = 15, .caller = 0x400100, .stack = 1}},
	{.kind = EVENT_BEGIN,
	 .api = API_REALLOC,
	 .pid = 7,
	 .tid = 9,
	 .call = {.caller = 0x400100, .args = {0x2000, 300}}},
	{.kind = EVENT_BEGIN,
	 .api = API_MREMAP,
	 .pid = 7,
	 .tid = 9,
	 .call = {.caller = 0x400100, .stack = 9, .args = {0, 0, ~0ULL, 4, 5}}},
	{.kind = EVENT_BEGIN, .api = API_MUNMAP, .pid = 7, .tid = 9},
	{.kind = EVENT_END,
	 .api = API_REALLOC,
	 .pid = 7,
	 .tid = 9,
	 .call = {.address = 0x3000, .size = 300, .caller = 0x400100, .stack = 1}},
	{.kind = EVENT_FORK,
	 .pid = 8,
	 .tid = 7,
	 .fork = {.parent = 7, .start_time_ns = 99, .shares_memory = true, .comm = "child"}},
	{.kind = EVENT_EXEC, .pid = 8, .tid = 8, .process = {.comm = "", .origin = ORIGIN_EXEC}},
	{.kind = EVENT_THREAD_ENDS, .pid = 7, .tid = 9},
	{.kind = EVENT_THREAD_GONE, .pid = 7, .tid = 9},
	{.kind = EVENT_LOSSES, .pid = 7, .losses = &losses},
	{.kind = EVENT_LEAVE, .pid = 8},
	{.kind = EVENT_EXIT, .pid = 7, .tid = 7, .exit = {0xff00}},
};

static const struct stream_settings settings = {
	.apis = 0x1fffe,
	.wrappers = true,
	.scans = true,
	.page_size = 65536,
	.begun_ns = 1000,
	.begun_at_ms = 1700000000123,
	.version = "1.2.3",
	.backend = "bpf",
};
static const struct stream_segment segments[] = {{0, 0x400000, 0x100, false},
						 {0x1000, 0x401000, 0x2000, true}};
static const struct stream_module module = {
	.id = 7,
	.path = "/bin/prog",
	.build_id = "00ff",
	.size = 12345,
	.machine = 62,
	.elf64 = true,
	.executable = true,
	.segments = segments,
	.segment_count = COUNT(segments),
};
static const struct stream_scan_site site = {
	.books = 1,
	.site = 3,
	.api = API_MALLOC,
	.first_seen_ns = 5,
	.leaks = {.classes = {[LEAK_DEFINITE] = {1, 100}, [LEAK_INDIRECT] = {2, 50}},
		  .oldest_ns = 6,
		  .youngest_ns = 7,
		  .examples[LEAK_DEFINITE] = {.address = 0x1000,
					      .size = 100,
					      .looked = true,
					      .resident = 50,
					      .swapped = 20,
					      .bytes = {0xab, [EXAMPLE_BYTES - 1] = 0xcd},
					      .read = EXAMPLE_BYTES}},
};
static const struct stream_scan scan = {
	.books = 1,
	.sites = 1,
	.scan = {.live = true,
		 .passes = 3,
		 .taken_ns = 8,
		 .pause_ns = 9,
		 .duration_ns = 10,
		 .bytes_scanned = 11,
		 .bytes_unreadable = 12,
		 .bytes_between = 13,
		 .bytes_free = 14,
		 .classes = {[LEAK_DEFINITE] = {1, 100}, [LEAK_INDIRECT] = {2, 50}}},
};
static const struct stream_scan no_scan = {.books = 2, .scan = {.reason = "it ended"}};

static int gather(void *ctx, const void *bytes, size_t size)
{
	pack_bytes(ctx, bytes, size);
	return 0;
}

static void tell_all(struct stream_writer *writer)
{
	assert_int_equal(stream_tell_settings(writer, &settings), 0);
	assert_int_equal(stream_tell_module(writer, &module), 0);
	for (size_t i = 0; i < COUNT(events); i++)
		assert_int_equal(stream_tell_event(writer, &events[i]), 0);
	assert_true(stream_is_held(writer));
	assert_int_equal(stream_tell_scan_site(writer, &site), 0);
	assert_int_equal(stream_tell_scan(writer, &scan), 0);
	assert_int_equal(stream_tell_scan(writer, &no_scan), 0);
	assert_int_equal(stream_tell_unprobed(writer), 0);
	for (size_t i = 0; i < COUNT(events); i++)
		assert_int_equal(stream_tell_event(writer, &events[i]), 0);
	assert_int_equal(stream_tell_end(writer, (struct stream_end){.taken_ns = 20,
								     .taken_at_ms = 21,
								     .failure = "why"}),
			 0);
	assert_int_equal(stream_events(writer), 2 * COUNT(events));
}

/* The whole stream, and what was told. */
static struct pack told_stream(bool squeeze, struct log *log)
{
	struct stream_handler handler = handler_of(log);
	struct stream_writer *writer;
	struct pack bytes = {0};

	assert_int_equal(stream_writer_new(&writer, squeeze, gather, &bytes), 0);
	tell_all(writer);
	stream_writer_free(writer);
	handler.settings(log, &settings);
	handler.module(log, &module);
	for (size_t i = 0; i < COUNT(events); i++)
		handler.event(log, &events[i]);
	handler.scan_site(log, &site);
	handler.scan(log, &scan);
	handler.scan(log, &no_scan);
	handler.unprobed(log);
	for (size_t i = 0; i < COUNT(events); i++)
		handler.event(log, &events[i]);
	note(log, "end %llu 20 21 why\n", ULL(2 * COUNT(events)));
	return bytes;
}

/* Read in pieces of a size; what it came to is noted. Returns whether it is complete. */
static bool read_stream(const uint8_t *bytes, size_t size, size_t piece, struct log *log,
			struct error *err)
{
	struct stream_handler handler = handler_of(log);
	struct stream_reader *reader;
	bool complete;

	*err = (struct error){0};
	assert_int_equal(stream_reader_new(&reader, &handler), 0);
	for (size_t at = 0; at < size && !err->code; at += piece) {
		size_t left = size - at;
		/* A copy of its own, so that sanitizers see what is read behind it. */
		size_t part = left < piece ? left : piece;
		uint8_t *copy = malloc(part);
		int code;

		assert_non_null(copy);
		memcpy(copy, bytes + at, part);
		code = stream_read(reader, copy, part, err);
		assert_int_equal(code, err->code);
		free(copy);
	}
	complete = stream_is_complete(reader);
	assert_true(stream_position(reader) <= size);
	assert_false(complete && err->code);
	stream_reader_free(reader);
	return complete;
}

static void check_round(bool squeeze, size_t piece)
{
	static struct log told, read;
	struct error err;
	struct pack bytes;

	told = (struct log){0};
	read = (struct log){0};
	bytes = told_stream(squeeze, &told);
	assert_true(read_stream(bytes.bytes, bytes.count, piece, &read, &err));
	assert_string_equal(read.text, told.text);
	pack_free(&bytes);
}

static void test_all_that_is_told_is_read(void **state)
{
	(void)state;
	check_round(false, SIZE_MAX / 2);
	check_round(false, 1);
	check_round(true, SIZE_MAX / 2);
	check_round(true, 7);
}

/* Cut anywhere, it is read up to the last whole frame, and is not complete. */
static void test_cut(void **state)
{
	static struct log told, read;
	struct error err;
	struct pack bytes;

	(void)state;
	told = (struct log){0};
	bytes = told_stream(false, &told);
	for (size_t size = 0; size < bytes.count; size++) {
		read = (struct log){0};
		assert_false(read_stream(bytes.bytes, size, SIZE_MAX / 2, &read, &err));
		assert_int_equal(err.code, 0);
		assert_memory_equal(read.text, told.text, read.used);
	}
	pack_free(&bytes);
}

/* A byte that is not what it was is seen, and nothing that it changed is told. */
static void check_flipped(bool squeeze)
{
	static struct log told, read;
	struct error err;
	struct pack bytes;

	told = (struct log){0};
	bytes = told_stream(squeeze, &told);
	for (size_t i = 0; i < bytes.count; i++) {
		for (unsigned int bit = 1; bit < 256; bit <<= 3) {
			bytes.bytes[i] ^= bit;
			read = (struct log){0};
			assert_false(
				read_stream(bytes.bytes, bytes.count, SIZE_MAX / 2, &read, &err));
			/* A longer length may have the rest of the stream awaited. */
			assert_true(err.code == -EBADMSG || err.code == -EPROTONOSUPPORT ||
				    !err.code);
			assert_memory_equal(read.text, told.text, read.used);
			bytes.bytes[i] ^= bit;
		}
	}
	pack_free(&bytes);
}

static void test_flipped(void **state)
{
	(void)state;
	check_flipped(false);
	check_flipped(true);
}

static void put_head(uint8_t *head, unsigned int kind, unsigned int flags, uint32_t size)
{
	memset(head, 0, FRAME_HEAD_SIZE);
	head[0] = (uint8_t)kind;
	head[1] = (uint8_t)flags;
	for (size_t i = 0; i < 4; i++)
		head[4 + i] = (uint8_t)(size >> 8 * i);
}

static void test_lengths_are_bounded(void **state)
{
	uint8_t bytes[HELLO_SIZE + FRAME_HEAD_SIZE];
	struct stream_hello hello = hello_own();
	static struct log read;
	struct error err;

	(void)state;
	hello_pack(bytes, &hello);
	put_head(bytes + HELLO_SIZE, STREAM_EVENTS, 0, FRAME_BODY_MAX + 1);
	read_stream(bytes, sizeof(bytes), SIZE_MAX / 2, &read, &err);
	assert_int_equal(err.code, -EBADMSG);
	put_head(bytes + HELLO_SIZE, STREAM_EVENTS, 0, UINT32_MAX);
	read_stream(bytes, sizeof(bytes), SIZE_MAX / 2, &read, &err);
	assert_int_equal(err.code, -EBADMSG);
	put_head(bytes + HELLO_SIZE, STREAM_EVENTS, 2, 0);
	read_stream(bytes, sizeof(bytes), SIZE_MAX / 2, &read, &err);
	assert_int_equal(err.code, -EBADMSG);
	put_head(bytes + HELLO_SIZE, STREAM_EVENTS, 0, FRAME_BODY_MAX);
	assert_false(read_stream(bytes, sizeof(bytes), SIZE_MAX / 2, &read, &err));
	assert_int_equal(err.code, 0);
}

static void test_other_files_and_versions(void **state)
{
	static const char *const others[] = {"= Start\n",
					     "\x7f"
					     "ELF",
					     "\x89PNG\r\n\x1a\n", "x"};
	struct stream_hello hello = hello_own();
	uint8_t bytes[HELLO_SIZE];
	static struct log read;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(others); i++) {
		read_stream((const uint8_t *)others[i], strlen(others[i]), 1, &read, &err);
		assert_int_equal(err.code, -EBADMSG);
		assert_non_null(strstr(err.text, "no recording"));
	}
	hello.major++;
	hello_pack(bytes, &hello);
	read_stream(bytes, sizeof(bytes), 5, &read, &err);
	assert_int_equal(err.code, -EPROTONOSUPPORT);
	hello = hello_own();
	hello.minor += 7;
	hello.order = STREAM_BIG;
	hello.word = 4;
	hello_pack(bytes, &hello);
	assert_false(read_stream(bytes, sizeof(bytes), 5, &read, &err));
	assert_int_equal(err.code, 0);
}

/* Frames one behind the other, of any kind and body. */
static void add_frame(struct pack *out, unsigned int kind, uint64_t number, const void *body,
		      size_t size)
{
	struct pack packed = {0};

	pack_bytes(&packed, body, size);
	assert_int_equal(frame_pack(out, kind, number, &packed, NULL), 0);
	pack_free(&packed);
}

static struct pack greeting(void)
{
	struct stream_hello hello = hello_own();
	uint8_t bytes[HELLO_SIZE];
	struct pack out = {0};

	hello_pack(bytes, &hello);
	pack_bytes(&out, bytes, sizeof(bytes));
	return out;
}

/* The smallest settings: no page size, no names. */
static const uint8_t small_settings[] = {0, 0, 0, 0, 0, 0, 0};

static void test_unknown_frames_are_skipped(void **state)
{
	static const uint8_t end[] = {0, 3, 4, 0, 99 /* of a later version */};
	struct pack out = greeting();
	static struct log read;
	struct error err;

	(void)state;
	read = (struct log){0};
	add_frame(&out, 200, 0, "whatever", 8);
	add_frame(&out, STREAM_SETTINGS, 1, small_settings, sizeof(small_settings));
	add_frame(&out, 0, 2, NULL, 0);
	add_frame(&out, STREAM_END, 3, end, sizeof(end));
	assert_true(read_stream(out.bytes, out.count, SIZE_MAX / 2, &read, &err));
	assert_string_equal(read.text, "settings 0 00000 0 0 0 - -\nend 0 3 4 -\n");
	pack_free(&out);
}

/* A frame holds in its place alone: missing, told twice, out of order. */
static void test_frames_have_a_place(void **state)
{
	static const uint64_t wrong[] = {0, 2, ~0ULL};
	static struct log read;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct pack out = greeting();

		add_frame(&out, STREAM_SETTINGS, 0, small_settings, sizeof(small_settings));
		add_frame(&out, STREAM_UNPROBED, wrong[i], NULL, 0);
		assert_false(read_stream(out.bytes, out.count, SIZE_MAX / 2, &read, &err));
		assert_int_equal(err.code, -EBADMSG);
		pack_free(&out);
	}
}

/* Bodies with the right checksum, and no sense in them. */
static void test_senseless_bodies(void **state)
{
	static const struct {
		unsigned int kind;
		const char *body;
		size_t size;
	} bodies[] = {
		{STREAM_SETTINGS, "\0\0\0\0\0\0\0", 7}, /* again */
		{STREAM_MODULE, "\x01\0\0\0\0\0\0", 7}, /* without a path */
		{STREAM_MODULE,
		 "\x01\x05"
		 "ab",
		 4}, /* cut */
		{STREAM_MODULE,
		 "\x01\x03"
		 "a\0b",
		 5}, /* no end of text */
		{STREAM_MODULE,
		 "\x01\x02"
		 "a\0\0\0\0\0\x41",
		 9},                        /* 65 segments */
		{STREAM_EVENTS, "\x00", 1}, /* unknown event */
		{STREAM_EVENTS, "\xf0", 1},
		{STREAM_EVENTS, "\x8c\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11}, /* pid */
		{STREAM_EVENTS, "\xe1\0\0\0\x09\0\0\0\0\0\0\0", 12},                 /* origin */
		{STREAM_EVENTS, "\xe9\0\0\0\0\0", 6}, /* an empty mapping */
		{STREAM_EVENTS, "\xe9\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0", 15},
		{STREAM_EVENTS, "\xeb\0\0\0\0\0\0\0\0\0\x81\x02", 12}, /* 257 frames */
		{STREAM_EVENTS, "\xec\x01", 2},                        /* a call that is cut */
		{STREAM_EVENTS, "\x6c\x01\x40", 3},                    /* with unknown fields */
		{STREAM_SCAN_SITES, "\0\0\0\0\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 25},
		{STREAM_SCAN, "\0\0\0", 3},
		{STREAM_END, "\x01\0\0\0", 4}, /* another number of events */
	};
	static struct log read;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(bodies); i++) {
		struct pack out = greeting();

		read = (struct log){0};
		add_frame(&out, STREAM_SETTINGS, 0, small_settings, sizeof(small_settings));
		add_frame(&out, bodies[i].kind, 1, bodies[i].body, bodies[i].size);
		assert_false(read_stream(out.bytes, out.count, SIZE_MAX / 2, &read, &err));
		if (err.code != -EBADMSG)
			fail_msg("body %zu: %d %s", i, err.code, read.text);
		pack_free(&out);
	}
}

/* Nothing but settings comes first. */
static void test_settings_come_first(void **state)
{
	struct pack out = greeting();
	static struct log read;
	struct error err;

	(void)state;
	add_frame(&out, STREAM_EVENTS, 0, NULL, 0);
	assert_false(read_stream(out.bytes, out.count, SIZE_MAX / 2, &read, &err));
	assert_int_equal(err.code, -EBADMSG);
	pack_free(&out);
}

static void test_more_behind_the_end(void **state)
{
	static struct log told, read;
	struct error err;
	struct pack bytes;

	(void)state;
	told = (struct log){0};
	read = (struct log){0};
	bytes = told_stream(false, &told);
	pack_byte(&bytes, 0);
	assert_false(read_stream(bytes.bytes, bytes.count, 1, &read, &err));
	assert_int_equal(err.code, -EBADMSG);
	pack_free(&bytes);
}

/* What decompresses to more than a frame may have, or to less than it says. */
static void test_bombs(void **state)
{
	static const struct {
		uint32_t size;
		int code;
	} sizes[] = {{100000, 0},
		     {99999, -EBADMSG},
		     {100001, -EBADMSG},
		     {0, -EBADMSG},
		     {UINT32_MAX, -EBADMSG}};
	struct pack body = {0}, frame = {0}, room = {0};
	struct squeeze *squeeze;

	(void)state;
	if (!squeeze_is_known())
		skip();
	assert_int_equal(squeeze_new(&squeeze), 0);
	for (size_t i = 0; i < 100000; i++)
		pack_byte(&body, 0);
	assert_int_equal(frame_pack(&frame, STREAM_EVENTS, 0, &body, squeeze), 0);
	assert_true(frame.count < body.count);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct frame_head head;
		struct unpack view;

		for (size_t j = 0; j < 4; j++)
			frame.bytes[FRAME_HEAD_SIZE + j] = (uint8_t)(sizes[i].size >> 8 * j);
		assert_int_equal(frame_head_unpack(frame.bytes, &head), 0);
		assert_int_equal(head.flags, FRAME_SQUEEZED);
		assert_int_equal(
			frame_body(&head, frame.bytes + FRAME_HEAD_SIZE, &squeeze, &room, &view),
			sizes[i].code);
	}
	pack_free(&frame);
	pack_free(&room);
	pack_free(&body);
	squeeze_free(squeeze);
}

struct limited {
	size_t left;
	int err;
	unsigned int calls;
};

static int output_limited(void *ctx, const void *bytes, size_t size)
{
	struct limited *limited = ctx;

	(void)bytes;
	limited->calls++;
	if (size > limited->left)
		return limited->err;
	limited->left -= size;
	return 0;
}

/* An output that fails is not asked again, and the failure stays. */
static void test_output_fails(void **state)
{
	struct limited limited = {.left = HELLO_SIZE + 64, .err = -ENOSPC};
	struct stream_writer *writer;
	int err = 0;

	(void)state;
	assert_int_equal(stream_writer_new(&writer, false, output_limited, &limited), 0);
	assert_int_equal(stream_tell_settings(writer, &settings), 0);
	for (size_t i = 0; i < 1000000 && !err; i++)
		err = stream_tell_event(writer, &events[6]);
	assert_int_equal(err, -ENOSPC);
	limited.calls = 0;
	assert_int_equal(stream_tell_event(writer, &events[6]), -ENOSPC);
	assert_int_equal(stream_tell_module(writer, &module), -ENOSPC);
	assert_int_equal(stream_tell_end(writer, (struct stream_end){0}), -ENOSPC);
	assert_int_equal(limited.calls, 0);
	stream_writer_free(writer);
}

static void test_handler_fails(void **state)
{
	static struct log told, read;
	struct error err;
	struct pack bytes;

	(void)state;
	told = (struct log){0};
	read = (struct log){.refuse = -ENOMEM};
	bytes = told_stream(false, &told);
	assert_false(read_stream(bytes.bytes, bytes.count, SIZE_MAX / 2, &read, &err));
	assert_int_equal(err.code, -ENOMEM);
	pack_free(&bytes);
}

/* So the bytes are, on whatever machine this test runs: docs/STREAM.md has the same example. */
static void test_bytes(void **state)
{
	static const uint8_t expected[] = {
		/* malloc(100) = 0x1000 at 0x400100, stack 1, thread 7/8, 5 ns */
		0x8c, 0x07, 0x02, 0x0a, 0x01, 0x80, 0x40, 0x64, 0xff, 0x01, 0, 0, 0, 0, 0, 0, 0,
		0x80, 0x84, 0x80, 0x04,
		/* malloc(24) = 0x1070 at the same place and time */
		0xec, 0x01, 0xe0, 0x01, 0x18, 0x32,
		/* free(0x1000) */
		0xed, 0x05, 0xdf, 0x01};
	struct event first = events[6], second = events[6];
	struct event third = {.kind = EVENT_FREE,
			      .api = API_FREE,
			      .pid = 7,
			      .tid = 8,
			      .time_ns = 5,
			      .call = {.address = 0x1000, .size = SIZE_UNTOLD}};
	static struct event_context context;
	struct pack out = {0};

	(void)state;
	second.call.address = 0x1070;
	second.call.size = 24;
	assert_int_equal(event_pack(&out, &context, &first), 0);
	assert_int_equal(event_pack(&out, &context, &second), 0);
	assert_int_equal(event_pack(&out, &context, &third), 0);
	for (size_t i = 0; i < out.count; i++)
		if (i >= sizeof(expected) || out.bytes[i] != expected[i])
			print_error("byte %zu is %02x\n", i, out.bytes[i]);
	assert_int_equal(out.count, sizeof(expected));
	assert_memory_equal(out.bytes, expected, sizeof(expected));
	pack_free(&out);
}

/* A hello of another machine. */
static void test_hello_bytes(void **state)
{
	static const uint8_t expected[] = {0x89, 'M', 'T', 'B', '\r', '\n', 0x1a, '\n', 1, 0, 0, 0,
					   2,    4,   0,   0,   20,   0,    0,    0,    0, 0, 0, 0};
	struct stream_hello hello = {1, 0, STREAM_BIG, 4, 20}, read;
	uint8_t bytes[HELLO_SIZE];
	struct error err;

	(void)state;
	hello_pack(bytes, &hello);
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_int_equal(hello_unpack(bytes, &read, &err), 0);
	assert_memory_equal(&read, &hello, sizeof(hello));
}

/* Long runs: many frames, and places that share a slot. */
static void test_many_events(void **state)
{
	static struct event_context to, from;
	struct event_room room = {0};
	struct pack out = {0};
	struct unpack view;

	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		struct event event = events[6];

		event.call.stack = hash_u64(i % 1000);
		event.call.caller = 0x400000 + i % 7;
		event.call.address = i * 48;
		event.time_ns = i / 3;
		assert_int_equal(event_pack(&out, &to, &event), 0);
	}
	view = (struct unpack){.at = out.bytes, .end = out.bytes + out.count};
	for (uint64_t i = 0; i < 20000; i++) {
		struct event event;

		assert_int_equal(event_unpack(&view, &from, &room, &event), 0);
		assert_int_equal(event.call.stack, hash_u64(i % 1000));
		assert_int_equal(event.call.caller, 0x400000 + i % 7);
		assert_int_equal(event.call.address, i * 48);
		assert_int_equal(event.time_ns, i / 3);
	}
	assert_ptr_equal(view.at, view.end);
	vec_free(&room.words);
	pack_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_is_told_is_read),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_lengths_are_bounded),
		cmocka_unit_test(test_other_files_and_versions),
		cmocka_unit_test(test_unknown_frames_are_skipped),
		cmocka_unit_test(test_frames_have_a_place),
		cmocka_unit_test(test_senseless_bodies),
		cmocka_unit_test(test_settings_come_first),
		cmocka_unit_test(test_more_behind_the_end),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_output_fails),
		cmocka_unit_test(test_handler_fails),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_hello_bytes),
		cmocka_unit_test(test_many_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
