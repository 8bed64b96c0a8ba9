/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invalid bytes in a stream: the reader refuses them, and reads no further. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "net/stream/read.h"
#include "stream_log.h"

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
	put_head(bytes + HELLO_SIZE, STREAM_EVENTS, 4, 0);
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
		assert_non_null(strstr(err.text, "not an mtrace-bpf recording"));
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

/* Appends frames of any kind and body. */
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

static int code_of(const struct pack *bytes, struct stream_handler handler)
{
	struct stream_reader *reader;
	struct error err;
	int code;

	assert_int_equal(stream_reader_new(&reader, &handler), 0);
	code = stream_read(reader, bytes->bytes, bytes->count, &err);
	stream_reader_free(reader);
	return code;
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

/* A frame is only valid at its place: not missing, repeated or out of order. */
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

/* Bodies with a valid checksum, but invalid contents. */
static void test_invalid_bodies(void **state)
{
	static const struct {
		unsigned int kind;
		const char *body;
		size_t size;
	} bodies[] = {
		{STREAM_SETTINGS, "\0\0\0\0\0\0\0", 7}, /* repeated */
		{STREAM_MODULE, "\x01\0\0\0\0\0\0", 7}, /* without a path */
		{STREAM_MODULE,
		 "\x01\x05"
		 "ab",
		 4}, /* truncated */
		{STREAM_MODULE,
		 "\x01\x03"
		 "a\0b",
		 5}, /* unterminated text */
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
		{STREAM_EVENTS, "\xec\x01", 2},                        /* a truncated call */
		{STREAM_EVENTS, "\x6c\x01\x40", 3},                    /* with unknown fields */
		{STREAM_SCAN_SITES, "\0\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
		 28},
		{STREAM_SCAN, "\0\0\0", 3},
		{STREAM_END, "\x01\0\0\0", 4}, /* wrong number of events */
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

/* Settings must come first. */
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

/* If the reader has no handler for a frame, it is skipped or refused, as net/stream/stream.h
 * says. */
static void test_missing_handlers(void **state)
{
	static const uint8_t module_body[9] = {1, 2, 'a'}, zeros[13];
	static const struct {
		unsigned int kind;
		const uint8_t *body;
		size_t size;
		int code;
	} frames[] = {
		{STREAM_MODULE, module_body, sizeof(module_body), 0},
		{STREAM_SCANNED, zeros, 3, 0},
		{STREAM_EVENTS, zeros, 0, -EBADMSG},
		{STREAM_SCAN_SITES, zeros, 7, -EBADMSG},
		{STREAM_SCAN, zeros, 13, -EBADMSG},
		{STREAM_UNPROBED, zeros, 0, -EBADMSG},
		{STREAM_BOOKS, zeros, 0, -EBADMSG},
		{STREAM_END, zeros, 4, -EBADMSG},
	};
	static struct log read;

	(void)state;
	for (size_t i = 0; i < COUNT(frames); i++) {
		struct pack out = greeting();

		add_frame(&out, STREAM_SETTINGS, 0, small_settings, sizeof(small_settings));
		add_frame(&out, frames[i].kind, 1, frames[i].body, frames[i].size);
		read = (struct log){0};
		assert_int_equal(code_of(&out, handler_of(&read)), 0);
		assert_int_equal(code_of(&out, (struct stream_handler){0}), frames[i].code);
		pack_free(&out);
	}
}

/* The same for frames after a model. */
static void test_model_without_resume(void **state)
{
	static const uint8_t zeros[5];
	struct pack out = greeting();
	struct stream_handler handler;
	static struct log read;

	(void)state;
	read = (struct log){0};
	handler = handler_of(&read);
	add_frame(&out, STREAM_SETTINGS, 0, small_settings, sizeof(small_settings));
	add_frame(&out, STREAM_BOOKS, 1, NULL, 0);
	assert_int_equal(code_of(&out, handler), 0);
	add_frame(&out, STREAM_RESUME, 2, zeros, sizeof(zeros));
	assert_int_equal(code_of(&out, handler), 0);
	handler.resume = NULL;
	assert_int_equal(code_of(&out, handler), -EBADMSG);
	pack_free(&out);
}

/* Data that decompress to more than a frame may have, or to less than announced. */
static void test_decompression_bombs(void **state)
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
	struct compressor *compressor;

	(void)state;
	if (!compressor_is_built_in())
		skip();
	assert_int_equal(compressor_new(&compressor), 0);
	for (size_t i = 0; i < 100000; i++)
		pack_byte(&body, 0);
	assert_int_equal(frame_pack(&frame, STREAM_EVENTS, 0, &body, compressor), 0);
	assert_true(frame.count < body.count);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct frame_head head;
		struct unpack view;

		for (size_t j = 0; j < 4; j++)
			frame.bytes[FRAME_HEAD_SIZE + j] = (uint8_t)(sizes[i].size >> 8 * j);
		assert_int_equal(frame_head_unpack(frame.bytes, &head), 0);
		assert_int_equal(head.flags, FRAME_SQUEEZED);
		assert_int_equal(
			frame_body(&head, frame.bytes + FRAME_HEAD_SIZE, &compressor, &room, &view),
			sizes[i].code);
	}
	pack_free(&frame);
	pack_free(&room);
	pack_free(&body);
	compressor_free(compressor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths_are_bounded),
		cmocka_unit_test(test_other_files_and_versions),
		cmocka_unit_test(test_unknown_frames_are_skipped),
		cmocka_unit_test(test_frames_have_a_place),
		cmocka_unit_test(test_invalid_bodies),
		cmocka_unit_test(test_settings_come_first),
		cmocka_unit_test(test_missing_handlers),
		cmocka_unit_test(test_model_without_resume),
		cmocka_unit_test(test_decompression_bombs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
