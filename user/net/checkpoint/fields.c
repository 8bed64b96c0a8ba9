// SPDX-License-Identifier: GPL-2.0-or-later
/* The numbers of each struct, in the order in which they are saved. */
#include "net/checkpoint/fields.h"

#include <string.h>

#include "bpf/sample.h"
#include "model/parts.h"
#include "net/checkpoint/code.h"

#define ITEM(type, member) (((type *)0)->member)

/* A number with a bound (UP_TO), any number of the member's width (NUMBER), an array of those
 * (SEVERAL), and a double (REAL). */
#define UP_TO(type, member, max)                                             \
	{                                                                    \
		offsetof(type, member), sizeof(ITEM(type, member)), 1, (max) \
	}
#define NUMBER(type, member) \
	UP_TO(type, member, UINT64_MAX >> (64 - 8 * sizeof(ITEM(type, member))))
#define SEVERAL(type, member)                                                       \
	{                                                                           \
		offsetof(type, member), sizeof(ITEM(type, member[0])),              \
			sizeof(ITEM(type, member)) / sizeof(ITEM(type, member[0])), \
			UINT64_MAX >> (64 - 8 * sizeof(ITEM(type, member[0])))      \
	}
#define REAL(type, member)                      \
	{                                       \
		offsetof(type, member), 0, 1, 0 \
	}
#define YES_NO(type, member) UP_TO(type, member, 1)

#define SUM(type, member) NUMBER(type, member.blocks), NUMBER(type, member.bytes)
/* A struct that consists only of 64-bit numbers. */
#define WORDS(type, member)                                                           \
	{                                                                             \
		offsetof(type, member), 8, sizeof(ITEM(type, member)) / 8, UINT64_MAX \
	}
/* Of the sums of all classes, those of the first CHECKPOINT_CLASSES. */
#define CLASSES(type, member)                                                 \
	{                                                                     \
		offsetof(type, member), 8, CHECKPOINT_CLASSES * 2, UINT64_MAX \
	}
#define SAMPLED(type, member)                                                                      \
	NUMBER(type, member.samples), NUMBER(type, member.most),                                   \
		UP_TO(type, member.first, SAMPLE_LEVELS), UP_TO(type, member.last, SAMPLE_LEVELS), \
		REAL(type, member.blocks_variance), REAL(type, member.bytes_variance)

#define FIELDS(name, ...)                                                    \
	static const struct checkpoint_field name##_items[] = {__VA_ARGS__}; \
	const struct checkpoint_fields fields_##name = {                     \
		name##_items, sizeof(name##_items) / sizeof(name##_items[0])}

_Static_assert(sizeof(struct snapshot_losses) == 11 * 8, "nothing but numbers");
_Static_assert(sizeof(((struct snapshot_scan *)0)->classes) == LEAK_CLASS_COUNT * 16,
	       "nothing but sums");
_Static_assert(CHECKPOINT_CLASSES == LEAK_STACK, "the first class with records of its own");

#define OTHERS(member) NUMBER(struct model, others.member)

FIELDS(model, NUMBER(struct model, opened), NUMBER(struct model, dropped),
       YES_NO(struct model, paused), YES_NO(struct model, config.unprobing),
       NUMBER(struct model, series.refused), OTHERS(sections), OTHERS(processes), OTHERS(scanned),
       SUM(struct model, others.gone), WORDS(struct model, others.sums.totals),
       SEVERAL(struct model, others.sums.sizes), SUM(struct model, others.sums.inherited),
       SUM(struct model, others.sums.live), WORDS(struct model, others.sums.mappings),
       WORDS(struct model, others.sums.internal), WORDS(struct model, others.sums.losses),
       CLASSES(struct model, others.sums.scan.classes), OTHERS(sums.sanity.errors),
       OTHERS(sums.sanity.uncertain), OTHERS(sums.other_calls));

#define P struct process

FIELDS(process, NUMBER(P, number), NUMBER(P, image), UP_TO(P, origin, ORIGIN_COUNT - 1),
       YES_NO(P, from_start), YES_NO(P, partial), YES_NO(P, exited), YES_NO(P, replaced),
       YES_NO(P, left), NUMBER(P, exit_code), NUMBER(P, origin_ns), NUMBER(P, since_ns),
       NUMBER(P, until_ns), YES_NO(P, closed), YES_NO(P, settled), NUMBER(P, totals.allocations),
       NUMBER(P, totals.frees), NUMBER(P, totals.bytes_allocated), NUMBER(P, totals.bytes_freed),
       NUMBER(P, totals.peak_live_bytes), NUMBER(P, totals.failed_allocations),
       SEVERAL(P, totals.sizes), SAMPLED(P, totals.sampled), SUM(P, inherited),
       NUMBER(P, live_blocks), NUMBER(P, live_bytes), NUMBER(P, maps), NUMBER(P, map_bytes),
       NUMBER(P, internal_frees), NUMBER(P, internal_munmaps), YES_NO(P, paused),
       NUMBER(P, unaccounted), WORDS(P, found), WORDS(P, losses), SAMPLED(P, live_sampled),
       NUMBER(P, now_ns), NUMBER(P, tick_end_ns), NUMBER(P, tick), NUMBER(P, peak.number),
       NUMBER(P, peak.bytes), NUMBER(P, peak.ns), YES_NO(P, scan.done), YES_NO(P, scan.live),
       NUMBER(P, scan.passes), NUMBER(P, scan.taken_ns), NUMBER(P, scan.pause_ns),
       NUMBER(P, scan.duration_ns), NUMBER(P, scan.bytes_scanned), NUMBER(P, scan.bytes_unreadable),
       NUMBER(P, scan.bytes_between), NUMBER(P, scan.bytes_free), CLASSES(P, scan.classes),
       NUMBER(P, mappings.clock), NUMBER(P, stacks.lost), NUMBER(P, stacks.truncated),
       NUMBER(P, regions.random), UP_TO(P, sanity.turn, FREED_MAX - 1),
       UP_TO(P, sanity.spare, FREED_MAX), NUMBER(P, sanity.more), NUMBER(P, sanity.bad_frees));

FIELDS(user, NUMBER(struct user, pid), NUMBER(struct user, ppid),
       NUMBER(struct user, start_time_ns), NUMBER(struct user, inner_pid),
       WORDS(struct user, losses));

FIELDS(mapping, NUMBER(struct mapping, start), NUMBER(struct mapping, end),
       NUMBER(struct mapping, offset), NUMBER(struct mapping, module),
       NUMBER(struct mapping, flags), NUMBER(struct mapping, from), NUMBER(struct mapping, until));

FIELDS(wrapper, NUMBER(struct event_wrapper, start), NUMBER(struct event_wrapper, end),
       UP_TO(struct event_wrapper, api, API_COUNT - 1));

#define S struct site

FIELDS(site, UP_TO(S, api, API_COUNT - 1), UP_TO(S, allocator_kind, ALLOCATOR_KIND_NEW_ARRAY),
       NUMBER(S, stack), NUMBER(S, allocations), NUMBER(S, frees), NUMBER(S, bytes_allocated),
       NUMBER(S, inherited_blocks), NUMBER(S, inherited_bytes), NUMBER(S, live_blocks),
       NUMBER(S, live_bytes), NUMBER(S, peak_live_bytes), NUMBER(S, failed_allocations),
       NUMBER(S, samples), NUMBER(S, mismatched), NUMBER(S, bad_frees), NUMBER(S, first_seen_ns),
       NUMBER(S, at_peak_bytes), NUMBER(S, peak), NUMBER(S, tick), NUMBER(S, lifetimes.sum_ms),
       NUMBER(S, lifetimes.count), NUMBER(S, lifetimes.temporary), NUMBER(S, lifetimes.min_ms),
       NUMBER(S, lifetimes.max_ms), SEVERAL(S, lifetimes.buckets));

FIELDS(region, NUMBER(struct region, bytes), NUMBER(struct region, site),
       NUMBER(struct region, time));
FIELDS(piece, NUMBER(struct piece, start), NUMBER(struct piece, end), NUMBER(struct piece, region));
FIELDS(block, NUMBER(struct checkpoint_block, address),
       UP_TO(struct checkpoint_block, size, UINT64_MAX >> 8), NUMBER(struct checkpoint_block, site),
       NUMBER(struct checkpoint_block, time), NUMBER(struct checkpoint_block, sample));
FIELDS(pending, NUMBER(struct pending, tid), UP_TO(struct pending, api, API_COUNT - 1),
       YES_NO(struct pending, missed), NUMBER(struct pending, sample),
       NUMBER(struct pending, caller), NUMBER(struct pending, old), NUMBER(struct pending, size));

FIELDS(freed, NUMBER(struct freed, address), NUMBER(struct freed, size), NUMBER(struct freed, site),
       NUMBER(struct freed, stack), UP_TO(struct freed, api, API_COUNT - 1));

#define E struct sanity_error

FIELDS(error, UP_TO(E, kind, SANITY_KIND_COUNT - 1), UP_TO(E, api, API_COUNT - 1),
       UP_TO(E, freed_by, API_COUNT - 1), NUMBER(E, site), NUMBER(E, freed_at),
       NUMBER(E, freed_again_at), NUMBER(E, count), NUMBER(E, address), NUMBER(E, size),
       NUMBER(E, passed_size), NUMBER(E, first_seen_ns));

FIELDS(last_call, NUMBER(struct last_call, tid), NUMBER(struct last_call, address));
FIELDS(ages, NUMBER(struct ages, oldest_ns), NUMBER(struct ages, youngest_ns),
       NUMBER(struct ages, sum_ms), NUMBER(struct ages, count));
FIELDS(sum, NUMBER(struct snapshot_sum, blocks), NUMBER(struct snapshot_sum, bytes));
FIELDS(example, NUMBER(struct snapshot_example, address), NUMBER(struct snapshot_example, size),
       YES_NO(struct snapshot_example, looked), NUMBER(struct snapshot_example, resident),
       NUMBER(struct snapshot_example, swapped),
       UP_TO(struct snapshot_example, read, EXAMPLE_BYTES),
       SEVERAL(struct snapshot_example, bytes));

static uint64_t get(const void *from, size_t size)
{
	uint8_t byte;
	uint16_t half;
	uint32_t word;
	uint64_t number;

	switch (size) {
	case 1:
		memcpy(&byte, from, 1);
		return byte;
	case 2:
		memcpy(&half, from, 2);
		return half;
	case 4:
		memcpy(&word, from, 4);
		return word;
	default:
		memcpy(&number, from, 8);
		return number;
	}
}

static void put(void *to, size_t size, uint64_t value)
{
	const uint8_t byte = (uint8_t)value;
	const uint16_t half = (uint16_t)value;
	const uint32_t word = (uint32_t)value;

	switch (size) {
	case 1:
		memcpy(to, &byte, 1);
		break;
	case 2:
		memcpy(to, &half, 2);
		break;
	case 4:
		memcpy(to, &word, 4);
		break;
	default:
		memcpy(to, &value, 8);
	}
}

/* Doubles are saved as IEEE 754 bits, which are the same on all machines. */
static double unpack_real(struct unpack *view)
{
	uint64_t bits = unpack_fixed(view, 8);
	double real;

	memcpy(&real, &bits, sizeof(real));
	if (real >= 0 && real < 1e300)
		return real;
	view->bad = true;
	return 0;
}

void pack_fields(struct pack *pack, const struct checkpoint_fields *fields, const void *from)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct checkpoint_field *field = &fields->items[i];
		const char *at = (const char *)from + field->offset;

		for (unsigned int j = 0; j < field->count; j++, at += field->size) {
			if (field->size)
				pack_number(pack, get(at, field->size));
			else
				pack_fixed(pack, get(at, 8), 8);
		}
	}
}

void unpack_fields(struct unpack *view, const struct checkpoint_fields *fields, void *ret_to)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct checkpoint_field *field = &fields->items[i];
		char *at = (char *)ret_to + field->offset;
		double real;

		for (unsigned int j = 0; j < field->count; j++, at += field->size) {
			if (field->size) {
				put(at, field->size, unpack_bounded(view, field->max));
			} else {
				real = unpack_real(view);
				memcpy(at, &real, sizeof(real));
			}
		}
	}
}
