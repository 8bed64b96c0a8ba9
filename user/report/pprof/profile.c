/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Items that were already written are found by a hash and then compared. Of two items with the same
 * hash, the second is written again each time it occurs, with a new id. Equal texts are one string
 * (model/snapshot/snapshot.h), so they are compared by address.
 */
#include "report/pprof/profile.h"
#include "base/hash.h"

#include <errno.h>
#include <string.h>

#define PAGE 4096

/* Fields of Mapping, Location, Line, Function and ValueType. */
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_NAMED = 7,
	MAPPING_FILED = 8,
	MAPPING_LINED = 9,
	MAPPING_INLINED = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
};

static void check(struct profile *profile, int err)
{
	if (err)
		out_fail(profile->gzip.out, err);
}

void profile_open(struct profile *profile, struct out *out, const char *program)
{
	*profile = (struct profile){.program = program};
	gzip_open(&profile->gzip, out);
	(void)profile_string(profile, NULL); /* the first string must be "" */
}

static void put_field(struct profile *profile, struct proto *whole)
{
	check(profile, whole->err);
	gzip_put(&profile->gzip, whole->bytes.items, whole->bytes.count);
	proto_free(whole);
}

void profile_put(struct profile *profile, uint32_t field, const struct proto *message)
{
	struct proto whole = {0};

	proto_message(&whole, field, message);
	put_field(profile, &whole);
}

void profile_put_number(struct profile *profile, uint32_t field, uint64_t number)
{
	struct proto whole = {0};

	proto_number(&whole, field, number);
	put_field(profile, &whole);
}

void profile_put_type(struct profile *profile, uint32_t field, const char *type, const char *unit)
{
	struct proto *message = &profile->message;

	proto_clear(message);
	proto_number(message, TYPE_TYPE, profile_string(profile, type));
	proto_number(message, TYPE_UNIT, profile_string(profile, unit));
	profile_put(profile, field, message);
}

/* Strings. */

uint64_t profile_string(struct profile *profile, const char *text)
{
	uint64_t hash = hash_u64((uintptr_t)text);
	uint32_t index = map64_get(&profile->strings, hash);
	struct proto whole = {0};

	if (index != MAP64_NONE && profile->known_strings.items[index] == text)
		return index;
	if (vec_push(&profile->known_strings, text)) {
		check(profile, -ENOMEM);
		return 0;
	}
	proto_text(&whole, PROFILE_STRING, text ? text : "");
	put_field(profile, &whole);
	if (index == MAP64_NONE)
		check(profile, map64_set(&profile->strings, hash,
					 (uint32_t)profile->known_strings.count - 1));
	return profile->known_strings.count - 1;
}

/* Functions. */

static uint64_t function_id(struct profile *profile, const struct snapshot_frame *frame)
{
	const struct profile_function function = {profile_string(profile, frame->function),
						  profile_string(profile, frame->file)};
	uint64_t hash = hash_bytes(&function, sizeof(function));
	uint32_t index = map64_get(&profile->functions, hash);
	struct proto *inner = &profile->inner;

	if (index != MAP64_NONE && profile->known_functions.items[index].name == function.name &&
	    profile->known_functions.items[index].file == function.file)
		return index + 1;
	if (vec_push(&profile->known_functions, function)) {
		check(profile, -ENOMEM);
		return 0;
	}
	proto_clear(inner);
	proto_number(inner, FUNCTION_ID, profile->known_functions.count);
	proto_number(inner, FUNCTION_NAME, function.name);
	proto_number(inner, FUNCTION_SYSTEM_NAME, function.name);
	proto_number(inner, FUNCTION_FILE, function.file);
	profile_put(profile, PROFILE_FUNCTION, inner);
	if (index == MAP64_NONE)
		check(profile, map64_set(&profile->functions, hash,
					 (uint32_t)profile->known_functions.count - 1));
	return profile->known_functions.count;
}

/* Mappings. */

static uint64_t new_mapping(struct profile *profile, const struct snapshot_frame *frame,
			    uint64_t hash, bool found)
{
	const struct profile_mapping mapping = {
		.module = frame->module_id,
		.bias = frame->address - frame->offset,
		.start = frame->address,
		.end = frame->address,
		.path = profile_string(profile, frame->module),
		.build_id = profile_string(profile, frame->build_id),
	};

	if (vec_push(&profile->known_mappings, mapping)) {
		check(profile, -ENOMEM);
		return PROFILE_NO_MAPPING;
	}
	if (!found)
		check(profile, map64_set(&profile->mappings, hash,
					 (uint32_t)profile->known_mappings.count - 1));
	return profile->known_mappings.count;
}

static uint64_t mapping_id(struct profile *profile, const struct snapshot_frame *frame)
{
	const uint64_t key[] = {frame->module_id, frame->address - frame->offset};
	uint64_t hash = hash_bytes(key, sizeof(key));
	uint32_t index = map64_get(&profile->mappings, hash);
	const struct profile_mapping *known;

	if (!frame->module)
		return PROFILE_NO_MAPPING;
	known = index == MAP64_NONE ? NULL : &profile->known_mappings.items[index];
	if (known && known->module == key[0] && known->bias == key[1])
		return index + 1;
	return new_mapping(profile, frame, hash, known != NULL);
}

/* Extends the known range of the mapping, and records what is known about its frames. */
static void see_mapping(struct profile *profile, uint64_t id, const struct snapshot_frame *frames,
			uint32_t count)
{
	struct profile_mapping *mapping;

	if (id == PROFILE_NO_MAPPING)
		return;
	mapping = &profile->known_mappings.items[id - 1];
	if (frames->address < mapping->start)
		mapping->start = frames->address;
	if (frames->address > mapping->end)
		mapping->end = frames->address;
	for (uint32_t i = 0; i < count; i++) {
		mapping->named |= frames[i].function != NULL;
		mapping->filed |= frames[i].file != NULL;
		mapping->lined |= frames[i].line != 0;
	}
}

/* Rounded to whole pages, like real mappings. */
static void put_mapping(struct profile *profile, size_t i)
{
	const struct profile_mapping *mapping = &profile->known_mappings.items[i];
	struct proto *message = &profile->message;
	uint64_t start = mapping->start / PAGE * PAGE;

	proto_clear(message);
	proto_number(message, MAPPING_ID, i + 1);
	proto_number(message, MAPPING_START, start);
	proto_number(message, MAPPING_LIMIT, mapping->end / PAGE * PAGE + PAGE);
	proto_number(message, MAPPING_OFFSET, start - mapping->bias);
	proto_number(message, MAPPING_FILE, mapping->path);
	proto_number(message, MAPPING_BUILD_ID, mapping->build_id);
	proto_number(message, MAPPING_NAMED, mapping->named);
	proto_number(message, MAPPING_FILED, mapping->filed);
	proto_number(message, MAPPING_LINED, mapping->lined);
	proto_number(message, MAPPING_INLINED, mapping->named);
	profile_put(profile, PROFILE_MAPPING, message);
}

/* Locations. */

/* Counts the innermost inlined frames and the frame that they are inlined into. */
static uint32_t frames_of_one(const struct snapshot_frame *frames, uint32_t count)
{
	uint32_t i = 0;

	while (i + 1 < count && frames[i].inlined && frames[i + 1].address == frames->address)
		i++;
	return i + 1;
}

static bool locations_equal(const struct profile_location *a, const struct profile_location *b)
{
	if (a->count != b->count || a->mapping != b->mapping)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (a->frames[i].address != b->frames[i].address ||
		    a->frames[i].function != b->frames[i].function ||
		    a->frames[i].file != b->frames[i].file ||
		    a->frames[i].line != b->frames[i].line)
			return false;
	return true;
}

static void put_location(struct profile *profile, const struct profile_location *location,
			 uint64_t id)
{
	struct proto line = {0}, message = {0};

	proto_number(&message, LOCATION_ID, id);
	proto_number(&message, LOCATION_MAPPING, location->mapping);
	proto_number(&message, LOCATION_ADDRESS, location->frames->address);
	for (uint32_t i = 0; i < location->count; i++) {
		if (!location->frames[i].function)
			continue;
		proto_clear(&line);
		proto_number(&line, LINE_FUNCTION, function_id(profile, &location->frames[i]));
		proto_number(&line, LINE_LINE, location->frames[i].line);
		proto_message(&message, LOCATION_LINE, &line);
	}
	profile_put(profile, PROFILE_LOCATION, &message);
	proto_free(&message);
	proto_free(&line);
}

uint64_t profile_location(struct profile *profile, const struct snapshot_frame *frames,
			  uint32_t count, uint32_t *ret_count)
{
	const struct profile_location location = {
		.frames = frames,
		.count = *ret_count = frames_of_one(frames, count),
		.mapping = mapping_id(profile, frames),
	};
	const uint64_t key[] = {frames->address, location.mapping, (uintptr_t)frames->function,
				frames->line};
	uint64_t hash = hash_bytes(key, sizeof(key));
	uint32_t index = map64_get(&profile->locations, hash);

	if (index != MAP64_NONE &&
	    locations_equal(&profile->known_locations.items[index], &location))
		return index + 1;
	if (vec_push(&profile->known_locations, location)) {
		check(profile, -ENOMEM);
		return 0;
	}
	see_mapping(profile, location.mapping, frames, location.count);
	put_location(profile, &location, profile->known_locations.count);
	if (index == MAP64_NONE)
		check(profile, map64_set(&profile->locations, hash,
					 (uint32_t)profile->known_locations.count - 1));
	return profile->known_locations.count;
}

static bool is_program(const struct profile *profile, size_t i)
{
	uint64_t path = profile->known_mappings.items[i].path;
	const char *text = profile->known_strings.items[path];

	return text && profile->program && !strcmp(text, profile->program);
}

/* Readers take the first mapping for the program. */
static void put_mappings(struct profile *profile)
{
	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < profile->known_mappings.count; i++)
			if (is_program(profile, i) != others)
				put_mapping(profile, i);
}

void profile_close(struct profile *profile)
{
	put_mappings(profile);
	gzip_close(&profile->gzip);
	map64_free(&profile->strings);
	map64_free(&profile->functions);
	map64_free(&profile->mappings);
	map64_free(&profile->locations);
	vec_free(&profile->known_strings);
	vec_free(&profile->known_functions);
	vec_free(&profile->known_mappings);
	vec_free(&profile->known_locations);
	proto_free(&profile->message);
	proto_free(&profile->inner);
}
