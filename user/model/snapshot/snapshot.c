/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/snapshot/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map64.h"
#include "base/vec.h"

#define CHUNK_BYTES (64 * 1024)
#define ALIGNMENT   16

struct arena_chunk {
	struct arena_chunk *next;
	size_t used;
	size_t capacity;
	_Alignas(ALIGNMENT) unsigned char bytes[];
};

/* Memory is allocated from the newest chunk; a large piece gets a chunk of its own. */
struct snapshot_arena {
	struct arena_chunk *chunks;
	size_t bytes; /* of all chunks */
	VEC(const char *) strings;
	struct map64 by_hash; /* hash of a text → index in strings */
};

struct snapshot *snapshot_new(void)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return NULL;
	snapshot->arena = calloc(1, sizeof(*snapshot->arena));
	if (!snapshot->arena) {
		free(snapshot);
		return NULL;
	}
	return snapshot;
}

void snapshot_free(struct snapshot *snapshot)
{
	struct arena_chunk *chunk, *next;

	if (!snapshot)
		return;
	for (chunk = snapshot->arena->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	vec_free(&snapshot->arena->strings);
	map64_free(&snapshot->arena->by_hash);
	free(snapshot->arena);
	free(snapshot);
}

static struct arena_chunk *chunk_new(size_t capacity)
{
	struct arena_chunk *chunk = calloc(1, sizeof(*chunk) + capacity);

	if (chunk)
		chunk->capacity = capacity;
	return chunk;
}

/* Returns a chunk with enough room. A large one is inserted after the newest, so that the newest
 * stays in use. */
static struct arena_chunk *arena_chunk(struct snapshot_arena *arena, size_t bytes)
{
	struct arena_chunk *newest = arena->chunks, *chunk;

	if (newest && newest->capacity - newest->used >= bytes)
		return newest;
	chunk = chunk_new(bytes > CHUNK_BYTES / 4 ? bytes : CHUNK_BYTES);
	if (!chunk)
		return NULL;
	arena->bytes += sizeof(*chunk) + chunk->capacity;
	if (newest && chunk->capacity != CHUNK_BYTES) {
		chunk->next = newest->next;
		newest->next = chunk;
	} else {
		chunk->next = newest;
		arena->chunks = chunk;
	}
	return chunk;
}

void *snapshot_alloc(struct snapshot *snapshot, size_t bytes)
{
	struct arena_chunk *chunk;
	void *memory;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + !bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	chunk = arena_chunk(snapshot->arena, bytes);
	if (!chunk)
		return NULL;
	memory = chunk->bytes + chunk->used;
	chunk->used += bytes;
	return memory;
}

size_t snapshot_bytes(const struct snapshot *snapshot)
{
	const struct snapshot_arena *arena = snapshot->arena;

	return arena->bytes + arena->strings.capacity * sizeof(*arena->strings.items) +
	       map64_bytes(&arena->by_hash);
}

static const char *text_copy(struct snapshot *snapshot, const char *text, size_t length)
{
	char *copy = snapshot_alloc(snapshot, length + 1);

	return copy ? memcpy(copy, text, length + 1) : NULL;
}

const char *snapshot_string(struct snapshot *snapshot, const char *text)
{
	struct snapshot_arena *arena = snapshot->arena;
	uint32_t index;
	uint64_t hash;
	const char *copy;
	size_t length;

	if (!text)
		return NULL;
	length = strlen(text);
	hash = hash_bytes(text, length);
	index = map64_get(&arena->by_hash, hash);
	if (index != MAP64_NONE && !strcmp(arena->strings.items[index], text))
		return arena->strings.items[index];
	copy = text_copy(snapshot, text, length);
	/* Of two texts with the same hash, only the first is shared. */
	if (copy && index == MAP64_NONE && !vec_push(&arena->strings, copy))
		(void)map64_set(&arena->by_hash, hash, (uint32_t)arena->strings.count - 1);
	return copy;
}

static int compare_counts(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Live bytes beyond the inherited ones, which the parent has allocated and which are also in its
 * section. */
static uint64_t live_of_its_own(const struct snapshot_process *process)
{
	uint64_t live = process->live.bytes, inherited = process->inherited.bytes;

	return live > inherited ? live - inherited : 0;
}

int snapshot_compare(const struct snapshot_process *a, const struct snapshot_process *b)
{
	int by_errors = compare_counts(a->sanity.errors, b->sanity.errors);
	int by_leaked = compare_counts(snapshot_leaked(a->scan.classes).bytes,
				       snapshot_leaked(b->scan.classes).bytes);
	int by_live = compare_counts(live_of_its_own(a), live_of_its_own(b));

	if (by_errors)
		return by_errors;
	if (by_leaked)
		return by_leaked;
	if (by_live)
		return by_live;
	return compare_counts(a->totals.bytes_allocated, b->totals.bytes_allocated);
}

static void sum_add(struct snapshot_sum *sum, const struct snapshot_sum *more)
{
	sum->blocks += more->blocks;
	sum->bytes += more->bytes;
}

static void scan_add(struct snapshot_scan *sum, const struct snapshot_scan *scan)
{
	for (int i = 0; i < LEAK_CLASS_COUNT; i++)
		sum_add(&sum->classes[i], &scan->classes[i]);
	sum_add(&sum->suppressed, &scan->suppressed);
}

static void totals_add(struct snapshot_process *sums, const struct snapshot_process *section)
{
	sums->totals.allocations += section->totals.allocations;
	sums->totals.frees += section->totals.frees;
	sums->totals.bytes_allocated += section->totals.bytes_allocated;
	sums->totals.bytes_freed += section->totals.bytes_freed;
	sums->totals.peak_live_bytes += section->totals.peak_live_bytes;
	sums->totals.failed_allocations += section->totals.failed_allocations;
	for (size_t i = 0; i < SIZE_CLASSES; i++)
		sums->sizes[i] += section->sizes[i];
	sums->mappings.maps += section->mappings.maps;
	sums->mappings.bytes += section->mappings.bytes;
	sums->internal.frees += section->internal.frees;
	sums->internal.munmaps += section->internal.munmaps;
	sums->other_calls += section->other_calls;
	sums->sanity.errors += section->sanity.errors;
	sums->sanity.uncertain += section->sanity.uncertain;
}

void snapshot_others_add(struct snapshot_others *others, const struct snapshot_process *section)
{
	others->sections++;
	others->processes += !section->replaced;
	others->scanned += section->scan.done;
	if (section->replaced)
		sum_add(&others->gone, &section->live);
	totals_add(&others->sums, section);
	sum_add(&others->sums.inherited, &section->inherited);
	sum_add(&others->sums.live, &section->live);
	snapshot_losses_add(&others->sums.losses, &section->losses);
	scan_add(&others->sums.scan, &section->scan);
}

void snapshot_quality(const struct snapshot_process *process, struct stack_quality *ret_quality)
{
	struct stack_quality quality = {.stacks = process->stack_count};

	for (size_t i = 0; i < process->stack_count; i++) {
		const struct snapshot_stack *stack = &process->stacks[i];

		quality.by_reason[stack->stop]++;
		quality.truncated += stack->truncated;
		quality.guessed += stack->guessed;
	}
	quality.complete = quality.by_reason[STOP_END];
	for (size_t i = 0; i < process->site_count; i++) {
		const struct snapshot_site *site = &process->sites[i];

		quality.calls += site->allocations;
		if (site->stack < process->stack_count &&
		    process->stacks[site->stack].stop == STOP_END)
			quality.complete_calls += site->allocations;
	}
	*ret_quality = quality;
}

static uint64_t weight_usage(const struct snapshot_site *site)
{
	return site->live_bytes;
}

static uint64_t weight_allocations(const struct snapshot_site *site)
{
	return site->allocations;
}

static uint64_t weight_total(const struct snapshot_site *site)
{
	return site->bytes_allocated;
}

static uint64_t weight_average(const struct snapshot_site *site)
{
	return site->allocations ? site->bytes_allocated / site->allocations : 0;
}

static uint64_t weight_leaks(const struct snapshot_site *site)
{
	return site->leaks.classes[LEAK_DEFINITE].blocks;
}

/* Includes indirectly leaked bytes, as in every list. */
static uint64_t weight_bytes_leaked(const struct snapshot_site *site)
{
	return snapshot_leaked(site->leaks.classes).bytes;
}

static uint64_t weight_age(const struct snapshot_site *site)
{
	return site->oldest_ns ? UINT64_MAX - site->oldest_ns : 0;
}

static uint64_t weight_mismatched(const struct snapshot_site *site)
{
	return site->mismatched;
}

static uint64_t weight_badfree(const struct snapshot_site *site)
{
	return site->bad_frees;
}

/* Ids are in order of first appearance, and ties are broken by id. */
static uint64_t weight_tsc(const struct snapshot_site *site)
{
	(void)site;
	return 0;
}

static uint64_t weight_growth(const struct snapshot_site *site)
{
	return site->growth.grows ? (uint64_t)(site->growth.slope * 1000) + 1 : 0;
}

struct sort_row {
	const char *name;
	/* Sites are sorted by descending weight. */
	uint64_t (*weight)(const struct snapshot_site *site);
};

static const struct sort_row sort_rows[] = {
	[SORT_USAGE] = {"usage", weight_usage},
	[SORT_ALLOCATIONS] = {"allocations", weight_allocations},
	[SORT_TOTAL] = {"total", weight_total},
	[SORT_AVERAGE] = {"average", weight_average},
	[SORT_LEAKS] = {"leaks", weight_leaks},
	[SORT_BYTES_LEAKED] = {"bytes-leaked", weight_bytes_leaked},
	[SORT_AGE] = {"age", weight_age},
	[SORT_MISMATCHED] = {"mismatched", weight_mismatched},
	[SORT_BADFREE] = {"badfree", weight_badfree},
	[SORT_TSC] = {"tsc", weight_tsc},
	[SORT_GROWTH] = {"growth", weight_growth},
};

_Static_assert(sizeof(sort_rows) / sizeof(sort_rows[0]) == SORT_COUNT, "a row for every key");

const char *sort_key_name(enum sort_key key)
{
	return (unsigned int)key < SORT_COUNT ? sort_rows[key].name : NULL;
}

int sort_key_parse(const char *name, enum sort_key *ret_key)
{
	for (int key = 0; key < SORT_COUNT; key++) {
		if (strcmp(name, sort_rows[key].name))
			continue;
		*ret_key = (enum sort_key)key;
		return 0;
	}
	return -EINVAL;
}

uint64_t sort_key_weight(enum sort_key key, const struct snapshot_site *site)
{
	return sort_rows[key].weight(site);
}

static int compare_sites(const void *a, const void *b, void *ctx)
{
	const struct sort_row *row = ctx;
	const struct snapshot_site *left = a, *right = b;
	uint64_t left_weight = row->weight(left), right_weight = row->weight(right);

	if (left_weight != right_weight)
		return left_weight < right_weight ? 1 : -1;
	return (left->id > right->id) - (left->id < right->id);
}

void snapshot_sort(struct snapshot *snapshot, enum sort_key key)
{
	for (size_t i = 0; i < snapshot->process_count; i++) {
		struct snapshot_process *process = &snapshot->processes[i];

		if (process->site_count)
			qsort_r(process->sites, process->site_count, sizeof(*process->sites),
				compare_sites, (void *)&sort_rows[key]);
	}
}
