/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream encodes its contents as the same bytes on every machine. Any other bytes are detected,
 * and everything before them is read.
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
#include "net/stream/event_code.h"
#include "net/stream/read.h"
#include "net/stream/write.h"
#include "stream_log.h"

static const uint64_t frames[] = {0x7f0000001234, 0x7f0000000010, 0x400100, ~0ULL,
				  0x8000000000400200};
static const char *const command[] = {"prog", "", "-x \xff\n", NULL};
static const struct snapshot_losses losses = {1, 2, 3, 4, 5, 6, ~0ULL, 8, 9, 10, 11};

/* An event of each kind, with most extreme values. */
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
	 .stack = {0xfedcba9876543210, frames, COUNT(frames), STOP_STACK_DUMP}},
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
	 .call = {.address = 0x1000, .size = SIZE_UNKNOWN}},
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
	{.kind = EVENT_THREAD_EXITS, .pid = 7, .tid = 9},
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
	.process_number = 1,
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
	.process_number = 1,
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
		 .classes = {[LEAK_DEFINITE] = {1, 100}, [LEAK_INDIRECT] = {2, 50}},
		 .tagged = 15},
};
/* With stack-only blocks. */
static const struct stream_scan_site stack_site = {
	.process_number = 1,
	.site = 4,
	.api = API_MALLOC,
	.leaks = {.classes[LEAK_STACK] = {3, 96},
		  .examples[LEAK_STACK] = {.address = 0x2000, .size = 32}},
};
static const struct stream_scan stack_scan = {
	.process_number = 1, .sites = 1, .scan = {.passes = 1, .classes[LEAK_STACK] = {3, 96}}};
static const struct stream_scan no_scan = {.process_number = 2, .scan = {.reason = "it ended"}};

static int gather(void *ctx, const void *bytes, size_t size)
{
	pack_bytes(ctx, bytes, size);
	return 0;
}

static void tell_all(struct stream_writer *writer)
{
	assert_int_equal(stream_write_settings(writer, &settings), 0);
	assert_int_equal(stream_write_module(writer, &module), 0);
	for (size_t i = 0; i < COUNT(events); i++)
		assert_int_equal(stream_write_event(writer, &events[i]), 0);
	assert_true(stream_is_held(writer));
	assert_int_equal(stream_write_scan_site(writer, &site), 0);
	assert_int_equal(stream_write_scan(writer, &scan), 0);
	assert_int_equal(stream_write_scan_site(writer, &stack_site), 0);
	assert_int_equal(stream_write_scan(writer, &stack_scan), 0);
	assert_int_equal(stream_write_scan(writer, &no_scan), 0);
	assert_int_equal(stream_write_unprobed(writer), 0);
	for (size_t i = 0; i < COUNT(events); i++)
		assert_int_equal(stream_write_event(writer, &events[i]), 0);
	assert_int_equal(stream_write_end(writer, (struct stream_end){.taken_ns = 20,
								      .taken_at_ms = 21,
								      .failure = "why"}),
			 0);
	assert_int_equal(stream_events(writer), 2 * COUNT(events));
}

/* The whole stream, and its log. */
static struct pack written_stream(bool compressed, struct log *log)
{
	struct stream_handler handler = handler_of(log);
	struct stream_writer *writer;
	struct pack bytes = {0};

	assert_int_equal(stream_writer_new(&writer, compressed, gather, &bytes), 0);
	tell_all(writer);
	stream_writer_free(writer);
	handler.settings(log, &settings);
	handler.module(log, &module);
	for (size_t i = 0; i < COUNT(events); i++)
		handler.event(log, &events[i]);
	handler.scan_site(log, &site);
	handler.scan(log, &scan);
	handler.scan_site(log, &stack_site);
	handler.scan(log, &stack_scan);
	handler.scan(log, &no_scan);
	handler.unprobed(log);
	for (size_t i = 0; i < COUNT(events); i++)
		handler.event(log, &events[i]);
	note(log, "end %llu 20 21 why\n", ULL(2 * COUNT(events)));
	return bytes;
}

static void check_round(bool compressed, size_t piece)
{
	static struct log written, read;
	struct error err;
	struct pack bytes;

	written = (struct log){0};
	read = (struct log){0};
	bytes = written_stream(compressed, &written);
	assert_true(read_stream(bytes.bytes, bytes.count, piece, &read, &err));
	assert_string_equal(read.text, written.text);
	pack_free(&bytes);
}

static void test_everything_sent_is_read(void **state)
{
	(void)state;
	check_round(false, SIZE_MAX / 2);
	check_round(false, 1);
	check_round(true, SIZE_MAX / 2);
	check_round(true, 7);
}

/* A truncated stream is read up to the last whole frame, and is not complete. */
static void test_truncated_stream(void **state)
{
	static struct log written, read;
	struct error err;
	struct pack bytes;

	(void)state;
	written = (struct log){0};
	bytes = written_stream(false, &written);
	for (size_t size = 0; size < bytes.count; size++) {
		read = (struct log){0};
		assert_false(read_stream(bytes.bytes, size, SIZE_MAX / 2, &read, &err));
		assert_int_equal(err.code, 0);
		assert_memory_equal(read.text, written.text, read.used);
	}
	pack_free(&bytes);
}

/* A changed byte is detected, and nothing that it affects is delivered. */
static void check_flipped(bool compressed)
{
	static struct log written, read;
	struct error err;
	struct pack bytes;

	written = (struct log){0};
	bytes = written_stream(compressed, &written);
	for (size_t i = 0; i < bytes.count; i++) {
		for (unsigned int bit = 1; bit < 256; bit <<= 3) {
			bytes.bytes[i] ^= bit;
			read = (struct log){0};
			assert_false(
				read_stream(bytes.bytes, bytes.count, SIZE_MAX / 2, &read, &err));
			/* With a larger length, the reader may wait for more bytes. */
			assert_true(err.code == -EBADMSG || err.code == -EPROTONOSUPPORT ||
				    !err.code);
			assert_memory_equal(read.text, written.text, read.used);
			bytes.bytes[i] ^= bit;
		}
	}
	pack_free(&bytes);
}

static void test_changed_byte_is_detected(void **state)
{
	(void)state;
	check_flipped(false);
	check_flipped(true);
}

static void test_bytes_after_the_end(void **state)
{
	static struct log written, read;
	struct error err;
	struct pack bytes;

	(void)state;
	written = (struct log){0};
	read = (struct log){0};
	bytes = written_stream(false, &written);
	pack_byte(&bytes, 0);
	assert_false(read_stream(bytes.bytes, bytes.count, 1, &read, &err));
	assert_int_equal(err.code, -EBADMSG);
	pack_free(&bytes);
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

/* An output that failed is not called again, and the error stays. */
static void test_output_fails(void **state)
{
	struct limited limited = {.left = HELLO_SIZE + 64, .err = -ENOSPC};
	struct stream_writer *writer;
	int err = 0;

	(void)state;
	assert_int_equal(stream_writer_new(&writer, false, output_limited, &limited), 0);
	assert_int_equal(stream_write_settings(writer, &settings), 0);
	for (size_t i = 0; i < 1000000 && !err; i++)
		err = stream_write_event(writer, &events[6]);
	assert_int_equal(err, -ENOSPC);
	limited.calls = 0;
	assert_int_equal(stream_write_event(writer, &events[6]), -ENOSPC);
	assert_int_equal(stream_write_module(writer, &module), -ENOSPC);
	assert_int_equal(stream_write_end(writer, (struct stream_end){0}), -ENOSPC);
	assert_int_equal(limited.calls, 0);
	stream_writer_free(writer);
}

static void test_handler_fails(void **state)
{
	static struct log written, read;
	struct error err;
	struct pack bytes;

	(void)state;
	written = (struct log){0};
	read = (struct log){.refuse = -ENOMEM};
	bytes = written_stream(false, &written);
	assert_false(read_stream(bytes.bytes, bytes.count, SIZE_MAX / 2, &read, &err));
	assert_int_equal(err.code, -ENOMEM);
	pack_free(&bytes);
}

/* The bytes are the same on every machine: docs/STREAM.md has the same example. */
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
			      .call = {.address = 0x1000, .size = SIZE_UNKNOWN}};
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

/* The hello of another machine. */
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

/* Many events: many frames, and places that share a slot. */
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
		cmocka_unit_test(test_everything_sent_is_read),
		cmocka_unit_test(test_truncated_stream),
		cmocka_unit_test(test_changed_byte_is_detected),
		cmocka_unit_test(test_bytes_after_the_end),
		cmocka_unit_test(test_output_fails),
		cmocka_unit_test(test_handler_fails),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_hello_bytes),
		cmocka_unit_test(test_many_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
