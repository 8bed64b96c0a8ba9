/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoded profiles: everything that they refer to exists, and their sums equal those of the
 * snapshot. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/vec.h"
#include "report/format.h"
#include "report/pprof/profile.h"
#include "tests/golden/snapshots.h"

#define VALUES     4
#define UNPACK_MAX (4u << 20)

static const struct snapshot *const all_snapshots[] = {&leaky_snapshot, &server_snapshot,
						       &build_snapshot, &hostile_snapshot};

struct bytes {
	const unsigned char *at, *end;
};

/* A field of a message: a number, or bytes. */
struct field {
	uint32_t number;
	uint64_t value;
	struct bytes bytes;
};

static uint64_t varint(struct bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;; shift += 7) {
		assert_true(bytes->at < bytes->end && shift < 64);
		value |= (uint64_t)(*bytes->at & 0x7f) << shift;
		if (!(*bytes->at++ & 0x80))
			return value;
	}
}

static bool next_field(struct bytes *bytes, struct field *ret_field)
{
	uint64_t key;

	if (bytes->at == bytes->end)
		return false;
	key = varint(bytes);
	*ret_field = (struct field){.number = (uint32_t)(key >> 3)};
	assert_true((key & 7) == 0 || (key & 7) == 2);
	ret_field->value = varint(bytes);
	if ((key & 7) == 0)
		return true;
	assert_true(ret_field->value <= (uint64_t)(bytes->end - bytes->at));
	ret_field->bytes = (struct bytes){bytes->at, bytes->at + ret_field->value};
	bytes->at = ret_field->bytes.end;
	return true;
}

static uint64_t number_of(struct bytes message, uint32_t number)
{
	struct field field;

	while (next_field(&message, &field))
		if (field.number == number && !field.bytes.at)
			return field.value;
	return 0;
}

/* The number of messages in the profile with this ID. */
static unsigned int times(struct bytes profile, uint32_t kind, uint64_t id)
{
	unsigned int count = 0;
	struct field field;

	while (next_field(&profile, &field))
		count += field.number == kind && number_of(field.bytes, 1) == id;
	return count;
}

static uint64_t strings_of(struct bytes profile)
{
	uint64_t count = 0;
	struct field field;

	while (next_field(&profile, &field))
		count += field.number == PROFILE_STRING;
	return count;
}

static size_t unpack(const char *packed, size_t size, unsigned char *out)
{
	z_stream stream = {.next_in = (z_const Bytef *)packed,
			   .avail_in = (uInt)size,
			   .next_out = out,
			   .avail_out = UNPACK_MAX};

	assert_int_equal(inflateInit2(&stream, 16 + 15), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	inflateEnd(&stream);
	return stream.total_out;
}

static struct bytes profile_of(const struct snapshot *snapshot, uint32_t top, unsigned char *out)
{
	const struct format_options options = {.top = top, .width = 80};
	char *packed;
	size_t size;
	FILE *file = open_memstream(&packed, &size);

	assert_non_null(file);
	assert_int_equal(format_pprof.write(snapshot, &options, file), 0);
	fclose(file);
	size = unpack(packed, size, out);
	free(packed);
	return (struct bytes){out, out + size};
}

static void check_location(struct bytes profile, struct bytes location)
{
	uint64_t mapping = number_of(location, 2);
	struct field field;

	if (mapping)
		assert_int_equal(times(profile, PROFILE_MAPPING, mapping), 1);
	while (next_field(&location, &field))
		if (field.number == 4)
			assert_int_equal(
				times(profile, PROFILE_FUNCTION, number_of(field.bytes, 1)), 1);
}

static void check_sample(struct bytes profile, struct bytes sample, uint64_t sums[VALUES])
{
	struct field field;

	while (next_field(&sample, &field)) {
		for (int i = 0; field.number == 2 && i < VALUES; i++)
			sums[i] += varint(&field.bytes);
		while (field.number == 1 && field.bytes.at < field.bytes.end)
			assert_int_equal(times(profile, PROFILE_LOCATION, varint(&field.bytes)), 1);
	}
}

static void check_ids(struct bytes profile, uint64_t sums[VALUES])
{
	uint64_t strings = strings_of(profile);
	struct bytes rest = profile;
	struct field field;

	while (next_field(&rest, &field)) {
		if (field.number == PROFILE_SAMPLE)
			check_sample(profile, field.bytes, sums);
		if (field.number == PROFILE_LOCATION)
			check_location(profile, field.bytes);
		if (field.number == PROFILE_FUNCTION)
			assert_true(number_of(field.bytes, 2) < strings &&
				    number_of(field.bytes, 4) < strings);
		if (field.number == PROFILE_MAPPING)
			assert_true(number_of(field.bytes, 2) < number_of(field.bytes, 3));
	}
}

static void sum_sites(const struct snapshot *snapshot, uint32_t top, uint64_t sums[VALUES])
{
	for (size_t i = 0; i < snapshot->process_count; i++) {
		const struct snapshot_process *process = &snapshot->processes[i];

		for (size_t j = 0; j < process->site_count && (!top || j < top); j++) {
			sums[0] += process->sites[j].allocations;
			sums[1] += process->sites[j].bytes_allocated;
			sums[2] += process->sites[j].live_blocks;
			sums[3] += process->sites[j].live_bytes;
		}
	}
}

static void test_references_and_sums(void **state)
{
	unsigned char *out = malloc(UNPACK_MAX);

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(all_snapshots); i++) {
		const struct snapshot *snapshot = all_snapshots[i / 2];
		struct bytes profile = profile_of(snapshot, i % 2, out);
		uint64_t sums[VALUES] = {0}, expected[VALUES] = {0};
		struct field field = {0};

		check_ids(profile, sums);
		sum_sites(snapshot, i % 2, expected);
		assert_memory_equal(sums, expected, sizeof(sums));
		while (field.number != PROFILE_STRING)
			assert_true(next_field(&profile, &field));
		assert_int_equal(field.value, 0); /* the first string */
	}
	free(out);
}

/* Inlined calls are one location with the function that they are inlined into. */
static void test_places(void **state)
{
	unsigned char *out = malloc(UNPACK_MAX);
	struct bytes profile = profile_of(&leaky_snapshot, 1, out), rest = profile;
	const struct snapshot_stack *stack =
		&leaky_snapshot.processes->stacks[leaky_snapshot.processes->sites->stack];
	unsigned int lines = 0, locations = 0, named = 0, inlined = 0;
	struct field field, inner;

	(void)state;
	while (next_field(&rest, &field)) {
		struct bytes location = field.bytes;

		if (field.number != PROFILE_LOCATION)
			continue;
		locations++;
		while (next_field(&location, &inner))
			lines += inner.number == 4;
	}
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		named += stack->frames[i].function != NULL;
		inlined += stack->frames[i].inlined;
	}
	assert_int_equal(lines, named);
	assert_int_equal(locations, stack->frame_count - inlined);
	assert_int_equal(inlined, 1);
	free(out);
}

static void test_full_disk(void **state)
{
	const struct format_options options = {.width = 80};
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	assert_int_equal(format_pprof.write(&leaky_snapshot, &options, full), -ENOSPC);
	assert_int_equal(format_folded.write(&leaky_snapshot, &options, full), -ENOSPC);
	fclose(full);
}

static void test_messages(void **state)
{
	static const unsigned char expected[] = {
		0x08, 0x96, 0x01, 0x12, 0x02, 'h',  'i',  0x1a, 0x03, 0x00, 0x80, 0x01, 0x22,
		0x00, 0x28, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
	const uint64_t numbers[] = {0, 128};
	struct proto proto = {0}, empty = {0};

	(void)state;
	proto_number(&proto, 1, 150);
	proto_text(&proto, 2, "hi");
	proto_numbers(&proto, 3, numbers, 2);
	proto_message(&proto, 4, &empty);
	proto_number(&proto, 5, UINT64_MAX);
	proto_number(&proto, 6, 0);
	assert_int_equal(proto.err, 0);
	assert_int_equal(proto.bytes.count, sizeof(expected));
	assert_memory_equal(proto.bytes.items, expected, sizeof(expected));
	proto_free(&proto);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_references_and_sums),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
