/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/leaks.h"

#include <inttypes.h>
#include <stdio.h>

#define NS_PER_MS 1000000

static const enum leak_class order[] = {LEAK_DEFINITE,  LEAK_INDIRECT, LEAK_POSSIBLE,
					LEAK_REACHABLE, LEAK_UNKNOWN,  LEAK_STACK};

_Static_assert(sizeof(order) / sizeof(order[0]) == LEAK_CLASS_COUNT, "every class is written");

/* Milliseconds with microsecond digits, and a point in every locale. */
static void put_ms(struct json_writer *writer, const char *key, uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / NS_PER_MS,
		 (unsigned int)(ns % NS_PER_MS / 1000));
	json_put_literal(writer, key, text);
}

static void put_string_or_null(struct json_writer *writer, const char *key, const char *value)
{
	if (value)
		json_put_string(writer, key, value);
	else
		json_put_literal(writer, key, "null");
}

static void put_sum(struct json_writer *writer, const char *key, const struct snapshot_sum *sum)
{
	json_open_object(writer, key, JSON_INLINE);
	json_put_number(writer, "blocks", sum->blocks);
	json_put_number(writer, "bytes", sum->bytes);
	json_close(writer);
}

void json_put_classes(struct json_writer *writer, const struct snapshot_scan *scan)
{
	for (size_t i = 0; i < LEAK_CLASS_COUNT; i++)
		put_sum(writer, leak_class_name(order[i]), &scan->classes[order[i]]);
	put_sum(writer, "suppressed", &scan->suppressed);
}

void json_put_scan(struct json_writer *writer, const struct snapshot_scan *scan)
{
	json_open_object(writer, "scan", JSON_LINES);
	json_put_bool(writer, "done", scan->done);
	put_string_or_null(writer, "reason", scan->reason);
	put_string_or_null(writer, "mode", !scan->done ? NULL : scan->live ? "live" : "stop");
	json_put_number(writer, "passes", scan->passes);
	json_put_number(writer, "taken_ns", scan->taken_ns);
	put_ms(writer, "pause_ms", scan->pause_ns);
	put_ms(writer, "duration_ms", scan->duration_ns);
	json_put_number(writer, "bytes_scanned", scan->bytes_scanned);
	json_put_number(writer, "bytes_unreadable", scan->bytes_unreadable);
	json_put_number(writer, "bytes_between", scan->bytes_between);
	json_put_number(writer, "bytes_free", scan->bytes_free);
	json_put_classes(writer, scan);
	json_put_number(writer, "possible_tagged_blocks", scan->tagged);
	json_close(writer);
}

/* "definite_blocks", "definite_bytes" */
static void put_sum_flat(struct json_writer *writer, const char *name,
			 const struct snapshot_sum *sum)
{
	char key[32];

	snprintf(key, sizeof(key), "%s_blocks", name);
	json_put_number(writer, key, sum->blocks);
	snprintf(key, sizeof(key), "%s_bytes", name);
	json_put_number(writer, key, sum->bytes);
}

/* null if the process could no longer be asked. */
static void put_number_if(struct json_writer *writer, const char *key, bool known, uint64_t number)
{
	if (known)
		json_put_number(writer, key, number);
	else
		json_put_literal(writer, key, "null");
}

static void put_example(struct json_writer *writer, const char *key,
			const struct snapshot_example *example)
{
	char hex[EXAMPLE_BYTES * 2 + 1] = "";

	for (uint32_t i = 0; i < example->read && i < EXAMPLE_BYTES; i++)
		snprintf(hex + (size_t)i * 2, 3, "%02x", example->bytes[i]);
	json_open_object(writer, key, JSON_INLINE);
	json_put_address(writer, "address", example->address);
	json_put_number(writer, "size", example->size);
	put_number_if(writer, "resident_bytes", example->looked, example->resident);
	put_number_if(writer, "swapped_bytes", example->looked, example->swapped);
	json_put_string(writer, "first_bytes", hex);
	json_close(writer);
}

static void put_examples(struct json_writer *writer, const struct snapshot_leaks *leaks)
{
	json_open_object(writer, "examples", JSON_INLINE);
	for (size_t i = 0; i < LEAK_CLASS_COUNT; i++)
		if (leaks->examples[order[i]].address)
			put_example(writer, leak_class_name(order[i]), &leaks->examples[order[i]]);
	json_close(writer);
}

void json_put_leaks(struct json_writer *writer, const struct snapshot_leaks *leaks)
{
	for (size_t i = 0; i < LEAK_CLASS_COUNT; i++)
		put_sum_flat(writer, leak_class_name(order[i]), &leaks->classes[order[i]]);
	put_sum_flat(writer, "suppressed", &leaks->suppressed);
	put_string_or_null(writer, "suppressed_by", leaks->suppressed_by);
	json_put_number(writer, "leak_oldest_ns", leaks->oldest_ns);
	json_put_number(writer, "leak_youngest_ns", leaks->youngest_ns);
	put_examples(writer, leaks);
}
