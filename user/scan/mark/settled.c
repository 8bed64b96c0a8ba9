/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scan/mark/settled.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scan/block/table.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define LEAST_SHIFT       6
#define REGIONS_PER_BLOCK 2 /* on average, at most */
#define BITS              32

static size_t regions_of(const struct settled_span *span)
{
	return (size_t)((span->width - 1) >> span->shift) + 1;
}

static size_t choose_regions(struct settled *settled, const struct blocks *blocks)
{
	size_t total = 0;

	for (size_t i = 0; i < blocks->spans.count; i++) {
		const struct span *from = &blocks->spans.items[i];
		struct settled_span *span = &settled->spans[i];

		*span = (struct settled_span){.base = from->base,
					      .width = from->end - from->base,
					      .first = total,
					      .shift = LEAST_SHIFT};
		while (regions_of(span) > (size_t)from->count * REGIONS_PER_BLOCK + 1)
			span->shift++;
		total += regions_of(span);
	}
	return total;
}

static bool is_wide(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("popcnt");
#else
	return false;
#endif
}

int settled_init(struct settled *settled, const struct blocks *blocks)
{
	size_t open_bytes, done_bytes;

	*settled = (struct settled){0};
	settled->wide = is_wide();
	settled->spans = calloc(blocks->spans.count + 1, sizeof(*settled->spans));
	if (!settled->spans)
		return -ENOMEM;
	settled->region_count = choose_regions(settled, blocks);
	settled->last_open = settled->region_count;
	open_bytes = (settled->region_count / BITS + 1) * sizeof(*settled->open);
	done_bytes = (blocks->slots / BITS + 1) * sizeof(*settled->done);
	settled->open = table_alloc(open_bytes);
	settled->done = calloc(1, done_bytes);
	if (!settled->open || !settled->done) {
		settled_free(settled);
		return -ENOMEM;
	}
	memset(settled->open, 0xff, open_bytes);
	settled->bytes = open_bytes + done_bytes + blocks->spans.count * sizeof(*settled->spans);
	return 0;
}

void settled_free(struct settled *settled)
{
	free(settled->spans);
	free(settled->open);
	free(settled->done);
	*settled = (struct settled){0};
}

static bool is_done(const struct settled *settled, uint32_t slot)
{
	return settled->done[slot / BITS] >> slot % BITS & 1;
}

/*
 * Returns true if all blocks that start in [from, to] of the span are done, given that `slot` is.
 */
static bool all_done(const struct settled *settled, const struct blocks *blocks,
		     const struct span *span, uint32_t slot, uint64_t from, uint64_t to)
{
	uint32_t behind = span->first + span->count;

	/* blocks are visited in this order, so the next one is probably not done yet */
	for (uint32_t i = slot + 1; i < behind && blocks->starts[i] <= to; i++)
		if (!is_done(settled, i))
			return false;
	for (uint32_t i = slot; i > span->first && blocks->starts[i] > from; i--)
		if (!is_done(settled, i - 1))
			return false;
	return true;
}

void settled_mark(struct settled *settled, const struct blocks *blocks, uint32_t slot)
{
	size_t i = blocks_span(blocks, slot);
	const struct span *span = &blocks->spans.items[i];
	const struct settled_span *regions = &settled->spans[i];
	bool is_last = slot + 1 == span->first + span->count;
	uint64_t last = (is_last ? regions->width : blocks->starts[slot + 1]) - 1;

	settled->done[slot / BITS] |= 1u << slot % BITS;
	for (uint64_t region = (uint64_t)blocks->starts[slot] >> regions->shift;
	     region <= last >> regions->shift; region++) {
		uint64_t from = region << regions->shift, to = from + (1ULL << regions->shift) - 1;
		size_t bit = regions->first + region;

		if (!all_done(settled, blocks, span, slot, from, to))
			continue;
		settled->open[bit / BITS] &= ~(1u << bit % BITS);
		settled->closed++;
	}
}

static bool is_open(const struct settled *settled, size_t region)
{
	return settled->open[region / BITS] >> region % BITS & 1;
}

/* The span that contains the region. */
static const struct settled_span *span_of(const struct settled *settled,
					  const struct blocks *blocks, size_t region)
{
	size_t low = 0, high = blocks->spans.count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (settled->spans[middle].first <= region)
			low = middle;
		else
			high = middle;
	}
	return &settled->spans[low];
}

/* Regions never reopen, so all calls together pass over them only once. */
void settled_range(struct settled *settled, const struct blocks *blocks, uint64_t *ret_low,
		   uint64_t *ret_high)
{
	const struct settled_span *span;
	uint64_t end;

	*ret_low = *ret_high = blocks->low;
	while (settled->first_open < settled->last_open && !is_open(settled, settled->first_open))
		settled->first_open++;
	while (settled->last_open > settled->first_open &&
	       !is_open(settled, settled->last_open - 1))
		settled->last_open--;
	if (settled->first_open == settled->last_open)
		return;
	span = span_of(settled, blocks, settled->first_open);
	*ret_low = span->base + ((uint64_t)(settled->first_open - span->first) << span->shift);
	span = span_of(settled, blocks, settled->last_open - 1);
	end = (uint64_t)(settled->last_open - span->first) << span->shift;
	*ret_high = span->base + (end < span->width ? end : span->width);
}

static const struct settled_span *find_span(const struct settled *settled,
					    const struct blocks *blocks, uint64_t word)
{
	return &settled->spans[blocks_span_below(blocks, word)];
}

/* Words that are being filtered, in place. */
struct sieve {
	const struct settled_span *span; /* of the last word */
	uint64_t *words;
	uint32_t *positions;
	size_t at;
	size_t kept;
};

/* Filters words up to `stop`, as long as they are in the same span. */
static void filter_span(const struct settled *settled, struct sieve *sieve, size_t stop)
{
	const struct settled_span span = *sieve->span;
	size_t at = sieve->at, kept = sieve->kept;

	for (; at < stop; at++) {
		uint64_t word = sieve->words[at], offset = word - span.base;

		if (offset >= span.width)
			break;
		sieve->words[kept] = word;
		sieve->positions[kept] = sieve->positions[at];
		kept += is_open(settled, span.first + (offset >> span.shift));
	}
	sieve->at = at;
	sieve->kept = kept;
}

/* Moves on to the span of the next word, and drops the word if it is in none. */
static void change_span(const struct settled *settled, const struct blocks *blocks,
			struct sieve *sieve)
{
	uint64_t word = sieve->words[sieve->at];

	sieve->span = find_span(settled, blocks, word);
	sieve->at += word - sieve->span->base >= sieve->span->width;
}

#if defined(__x86_64__)

/* Filters eight words at a time, as long as they are in the same span. */
__attribute__((target("avx512f,avx512vl,popcnt"))) static void filter_wide(
	const struct settled *settled, struct sieve *sieve, size_t count)
{
	const struct settled_span *span = sieve->span;
	__m512i base = _mm512_set1_epi64((int64_t)span->base);
	__m512i width = _mm512_set1_epi64((int64_t)span->width);
	__m512i first = _mm512_set1_epi64((int64_t)span->first);
	__m128i shift = _mm_cvtsi32_si128((int)span->shift);

	for (; sieve->at + 8 <= count; sieve->at += 8) {
		__m512i words = _mm512_loadu_si512((const void *)(sieve->words + sieve->at));
		__m256i positions =
			_mm256_loadu_si256((const void *)(sieve->positions + sieve->at));
		__m512i offsets = _mm512_sub_epi64(words, base);
		__m512i regions = _mm512_add_epi64(_mm512_srl_epi64(offsets, shift), first);
		__m256i open, bits;
		__mmask8 keep;

		if (_mm512_cmplt_epu64_mask(offsets, width) != 0xff)
			return;
		open = _mm512_i64gather_epi32(_mm512_srli_epi64(regions, 5), settled->open, 4);
		bits = _mm256_and_si256(_mm512_cvtepi64_epi32(regions), _mm256_set1_epi32(31));
		keep = _mm256_test_epi32_mask(_mm256_srlv_epi32(open, bits), _mm256_set1_epi32(1));
		_mm512_storeu_si512((void *)(sieve->words + sieve->kept),
				    _mm512_maskz_compress_epi64(keep, words));
		_mm256_storeu_si256((void *)(sieve->positions + sieve->kept),
				    _mm256_maskz_compress_epi32(keep, positions));
		sieve->kept += (size_t)__builtin_popcount(keep);
	}
}

#else

static void filter_wide(const struct settled *settled, struct sieve *sieve, size_t count)
{
	(void)settled;
	(void)sieve;
	(void)count;
}

#endif

size_t settled_filter(const struct settled *settled, const struct blocks *blocks, uint64_t *words,
		      uint32_t *positions, size_t count)
{
	struct sieve sieve = {.span = settled->spans, .words = words, .positions = positions};

	while (sieve.at < count) {
		if (settled->wide)
			filter_wide(settled, &sieve, count);
		filter_span(settled, &sieve, count);
		if (sieve.at < count)
			change_span(settled, blocks, &sieve);
	}
	return sieve.kept;
}
