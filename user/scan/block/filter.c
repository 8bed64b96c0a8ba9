/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * low <= w < high is one unsigned comparison: w - low < high - low. A tag in the upper bits of w
 * only changes the upper bits of the difference, which are cleared. AVX2 only compares signed
 * numbers: differences of 48 bits are never negative, and for 32-bit words the upper bit of both
 * sides is flipped, which moves them by half the range. One branch skips sixteen words of 64 bits
 * if their upper halves show that none of them passes; otherwise a mask says which ones do. With
 * AVX-512, one branch skips thirty-two words.
 */
#include "scan/block/filter.h"

#include <string.h>

#define TAGGED_WORD_ADDRESS ((1ULL << 48) - 1)

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline uint64_t load64(const void *data, size_t index)
{
	uint64_t word;

	memcpy(&word, (const char *)data + index * sizeof(word), sizeof(word));
	return word;
}

static inline uint32_t load32(const void *data, size_t index)
{
	uint32_t word;

	memcpy(&word, (const char *)data + index * sizeof(word), sizeof(word));
	return word;
}

static size_t portable64(const struct filter *filter, const void *data, size_t count,
			 uint64_t *words, uint32_t *positions)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		words[kept] = load64(data, i);
		positions[kept] = (uint32_t)(i * sizeof(uint64_t));
		kept += ((words[kept] - filter->low) & filter->address_bits) < filter->width;
	}
	return kept;
}

static size_t portable32(const struct filter *filter, const void *data, size_t count,
			 uint64_t *words, uint32_t *positions)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		words[kept] = load32(data, i);
		positions[kept] = (uint32_t)(i * sizeof(uint32_t));
		kept += words[kept] - filter->low < filter->width;
	}
	return kept;
}

#if defined(__x86_64__)

#define CACHE_LINE 64
#define AHEAD      1024 /* bytes; what the kernel has just copied is in the second-level cache */

/* May prefetch beyond the end of the data, which does no harm. */
static inline void fetch_ahead(const void *data, size_t byte, unsigned int lines)
{
	for (unsigned int i = 0; i < lines; i++)
		_mm_prefetch((const char *)data + byte + AHEAD + i * (size_t)CACHE_LINE,
			     _MM_HINT_T0);
}

#define AVX2 __attribute__((target("avx2,bmi,popcnt")))

/* Handles the words that do not fill a whole round of the fast loop. */
static size_t add_rest(const struct filter *filter, const void *data, size_t done, size_t count,
		       unsigned int word, filter_words *portable, uint64_t *words,
		       uint32_t *positions)
{
	size_t kept =
		portable(filter, (const char *)data + done * word, count - done, words, positions);

	for (size_t i = 0; i < kept; i++)
		positions[i] += (uint32_t)(done * word);
	return kept;
}

static AVX2 inline __m256i passes64(const void *data, size_t i, __m256i low, __m256i width)
{
	__m256i word = _mm256_loadu_si256((const void *)((const char *)data + i * 8));
	__m256i address_bits = _mm256_set1_epi64x((int64_t)TAGGED_WORD_ADDRESS);
	__m256i offset = _mm256_and_si256(_mm256_sub_epi64(word, low), address_bits);

	return _mm256_cmpgt_epi64(width, offset);
}

static AVX2 inline uint32_t mask64(__m256i passed)
{
	return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(passed));
}

/* For each subset of four words: the order of halves and of offsets that moves it to the front. */
static const uint32_t chosen_halves[16][8] = {
	{0},
	{0, 1},
	{2, 3},
	{0, 1, 2, 3},
	{4, 5},
	{0, 1, 4, 5},
	{2, 3, 4, 5},
	{0, 1, 2, 3, 4, 5},
	{6, 7},
	{0, 1, 6, 7},
	{2, 3, 6, 7},
	{0, 1, 2, 3, 6, 7},
	{4, 5, 6, 7},
	{0, 1, 4, 5, 6, 7},
	{2, 3, 4, 5, 6, 7},
	{0, 1, 2, 3, 4, 5, 6, 7},
};
static const uint32_t chosen_offsets[16][4] = {
	{0},  {0},     {8},     {0, 8},     {16},     {0, 16},     {8, 16},     {0, 8, 16},
	{24}, {0, 24}, {8, 24}, {0, 8, 24}, {16, 24}, {0, 16, 24}, {8, 16, 24}, {0, 8, 16, 24},
};

/* Without a branch, because it is unpredictable which of four words pass. */
static AVX2 inline size_t keep64(const void *data, size_t i, __m256i passed, uint64_t *words,
				 uint32_t *positions)
{
	uint32_t mask = mask64(passed);
	__m256i four = _mm256_loadu_si256((const void *)((const char *)data + i * 8));
	__m256i halves = _mm256_loadu_si256((const void *)chosen_halves[mask]);
	__m128i offsets = _mm_loadu_si128((const void *)chosen_offsets[mask]);

	_mm256_storeu_si256((void *)words, _mm256_permutevar8x32_epi32(four, halves));
	_mm_storeu_si128((void *)positions, _mm_add_epi32(offsets, _mm_set1_epi32((int)i * 8)));
	return (size_t)__builtin_popcount(mask);
}

/* Returns the upper halves of eight words. */
static AVX2 inline __m256i upper_halves(const void *data, size_t i)
{
	__m256 four = _mm256_loadu_ps((const void *)((const char *)data + i * 8));
	__m256 next = _mm256_loadu_ps((const void *)((const char *)data + i * 8 + 32));

	return _mm256_castps_si256(_mm256_shuffle_ps(four, next, 0xdd));
}

/* Returns false if the upper halves of sixteen words show that none passes. */
static AVX2 inline bool may_pass64(const void *data, size_t i, __m256i low, __m256i most)
{
	__m256i address_bits = _mm256_set1_epi32((int32_t)(TAGGED_WORD_ADDRESS >> 32));
	__m256i one = _mm256_and_si256(_mm256_sub_epi32(upper_halves(data, i), low), address_bits);
	__m256i other =
		_mm256_and_si256(_mm256_sub_epi32(upper_halves(data, i + 8), low), address_bits);
	__m256i none =
		_mm256_and_si256(_mm256_cmpgt_epi32(one, most), _mm256_cmpgt_epi32(other, most));

	return _mm256_movemask_epi8(none) != -1;
}

static AVX2 inline size_t keep_sixteen(const void *data, size_t i, __m256i low, __m256i width,
				       uint64_t *words, uint32_t *positions)
{
	size_t kept = 0;

	for (size_t end = i + 16; i < end; i += 4)
		kept += keep64(data, i, passes64(data, i, low, width), words + kept,
			       positions + kept);
	return kept;
}

static AVX2 size_t avx2_64(const struct filter *filter, const void *data, size_t count,
			   uint64_t *words, uint32_t *positions)
{
	uint64_t last = filter->low + filter->width - 1;
	uint32_t upper = (uint32_t)(filter->low >> 32);
	__m256i low = _mm256_set1_epi64x((int64_t)filter->low);
	__m256i width = _mm256_set1_epi64x((int64_t)filter->width);
	__m256i upper_low = _mm256_set1_epi32((int32_t)upper);
	__m256i upper_most = _mm256_set1_epi32((int32_t)((uint32_t)(last >> 32) - upper));
	size_t kept = 0, i = 0;

	for (; i + 16 <= count; i += 16) {
		fetch_ahead(data, i * 8, 2);
		if (may_pass64(data, i, upper_low, upper_most))
			kept += keep_sixteen(data, i, low, width, words + kept, positions + kept);
	}
	return kept +
	       add_rest(filter, data, i, count, 8, portable64, words + kept, positions + kept);
}

static AVX2 inline __m256i passes32(const void *data, size_t i, __m256i low, __m256i width)
{
	__m256i word = _mm256_loadu_si256((const void *)((const char *)data + i * 4));

	return _mm256_cmpgt_epi32(width, _mm256_sub_epi32(word, low));
}

static AVX2 inline uint32_t mask32(__m256i passed)
{
	return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(passed));
}

static AVX2 size_t avx2_32(const struct filter *filter, const void *data, size_t count,
			   uint64_t *words, uint32_t *positions)
{
	const uint32_t flip = 1u << 31;
	uint32_t flipped_low = (uint32_t)filter->low + flip;
	uint32_t flipped_width = (uint32_t)filter->width ^ flip;
	__m256i low = _mm256_set1_epi32((int32_t)flipped_low);
	__m256i width = _mm256_set1_epi32((int32_t)flipped_width);
	size_t kept = 0, i = 0;

	for (; i + 32 <= count; i += 32) {
		__m256i a = passes32(data, i, low, width), b = passes32(data, i + 8, low, width);
		__m256i c = passes32(data, i + 16, low, width),
			d = passes32(data, i + 24, low, width);
		__m256i any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
		uint32_t mask;

		if (_mm256_testz_si256(any, any))
			continue;
		mask = mask32(a) | mask32(b) << 8 | mask32(c) << 16 | mask32(d) << 24;
		for (; mask; mask &= mask - 1) {
			size_t at = i + (size_t)__builtin_ctz(mask);

			words[kept] = load32(data, at);
			positions[kept++] = (uint32_t)(at * 4);
		}
	}
	return kept +
	       add_rest(filter, data, i, count, 4, portable32, words + kept, positions + kept);
}

/*
 * Returns the number of words before the first cache line that begins in the data. A load that
 * spans two cache lines costs twice as much.
 */
static size_t words_to_line(const void *data, size_t count, unsigned int word)
{
	size_t words = (-(uintptr_t)data & (CACHE_LINE - 1)) / word;

	return words < count ? words : count;
}

/* AVX-512 compares unsigned numbers and can move the words that passed to the front. */
#define AVX512 __attribute__((target("avx512f,avx512vl,bmi,popcnt")))

static AVX512 inline __m512i load512(const void *data, size_t byte)
{
	return _mm512_loadu_si512((const void *)((const char *)data + byte));
}

static AVX512 inline __mmask8 passed64(__m512i eight, __m512i low, __m512i width)
{
	__m512i address_bits = _mm512_set1_epi64((int64_t)TAGGED_WORD_ADDRESS);
	__m512i offset = _mm512_and_si512(_mm512_sub_epi64(eight, low), address_bits);

	return _mm512_cmplt_epu64_mask(offset, width);
}

static AVX512 inline size_t compress64(__m512i eight, __mmask8 passed, size_t byte, uint64_t *words,
				       uint32_t *positions)
{
	__m256i offsets = _mm256_add_epi32(_mm256_setr_epi32(0, 8, 16, 24, 32, 40, 48, 56),
					   _mm256_set1_epi32((int)byte));

	_mm512_storeu_si512((void *)words, _mm512_maskz_compress_epi64(passed, eight));
	_mm256_storeu_si256((void *)positions, _mm256_maskz_compress_epi32(passed, offsets));
	return (size_t)__builtin_popcount(passed);
}

static AVX512 size_t avx512_64(const struct filter *filter, const void *data, size_t count,
			       uint64_t *words, uint32_t *positions)
{
	__m512i low = _mm512_set1_epi64((int64_t)filter->low);
	__m512i width = _mm512_set1_epi64((int64_t)filter->width);
	size_t i = words_to_line(data, count, 8), kept;

	kept = portable64(filter, data, i, words, positions);

	for (; i + 32 <= count; i += 32) {
		size_t byte = i * 8;
		__m512i a = load512(data, byte), b = load512(data, byte + 64);
		__m512i c = load512(data, byte + 128), d = load512(data, byte + 192);
		__mmask8 in_a = passed64(a, low, width), in_b = passed64(b, low, width);
		__mmask8 in_c = passed64(c, low, width), in_d = passed64(d, low, width);

		fetch_ahead(data, byte, 4);
		if (!(in_a | in_b | in_c | in_d))
			continue;
		kept += compress64(a, in_a, byte, words + kept, positions + kept);
		kept += compress64(b, in_b, byte + 64, words + kept, positions + kept);
		kept += compress64(c, in_c, byte + 128, words + kept, positions + kept);
		kept += compress64(d, in_d, byte + 192, words + kept, positions + kept);
	}
	return kept +
	       add_rest(filter, data, i, count, 8, portable64, words + kept, positions + kept);
}

static AVX512 inline size_t compress32(__m512i sixteen, __mmask16 passed, size_t byte,
				       uint64_t *words, uint32_t *positions)
{
	__m512i offsets = _mm512_add_epi32(
		_mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60),
		_mm512_set1_epi32((int)byte));
	__m512i chosen = _mm512_maskz_compress_epi32(passed, sixteen);

	_mm512_storeu_si512((void *)words, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(chosen)));
	_mm512_storeu_si512((void *)(words + 8),
			    _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(chosen, 1)));
	_mm512_storeu_si512((void *)positions, _mm512_maskz_compress_epi32(passed, offsets));
	return (size_t)__builtin_popcount(passed);
}

static AVX512 size_t avx512_32(const struct filter *filter, const void *data, size_t count,
			       uint64_t *words, uint32_t *positions)
{
	__m512i low = _mm512_set1_epi32((int32_t)(uint32_t)filter->low);
	__m512i width = _mm512_set1_epi32((int32_t)(uint32_t)filter->width);
	size_t i = words_to_line(data, count, 4), kept;

	kept = portable32(filter, data, i, words, positions);

	for (; i + 16 <= count; i += 16) {
		__m512i sixteen = load512(data, i * 4);
		__mmask16 passed = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(sixteen, low), width);

		if (passed)
			kept += compress32(sixteen, passed, i * 4, words + kept, positions + kept);
	}
	return kept +
	       add_rest(filter, data, i, count, 4, portable32, words + kept, positions + kept);
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	       __builtin_cpu_supports("popcnt");
}

static bool has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512vl");
}

static filter_words *fastest(unsigned int word, enum filter_speed speed)
{
	if (speed == FILTER_FASTEST && has_avx512())
		return word == 8 ? avx512_64 : avx512_32;
	if (speed <= FILTER_AVX2 && has_avx2())
		return word == 8 ? avx2_64 : avx2_32;
	return NULL;
}

#else

static filter_words *fastest(unsigned int word, enum filter_speed speed)
{
	(void)word;
	(void)speed;
	return NULL;
}

#endif

static uint64_t clamp(const struct filter *filter, uint64_t value)
{
	value = value > filter->least ? value : filter->least;
	return value < filter->most ? value : filter->most;
}

void filter_limit(struct filter *filter, uint64_t low, uint64_t high)
{
	filter->low = clamp(filter, low);
	filter->width = clamp(filter, high) - filter->low;
}

void filter_init(struct filter *filter, unsigned int word, uint64_t low, uint64_t high,
		 enum filter_speed speed)
{
	uint64_t limit = word == 8 ? UINT64_MAX : UINT32_MAX;
	bool has_tags;

	filter->most = high < limit ? high : limit;
	filter->least = low < filter->most ? low : filter->most;
	has_tags = word == 8 && filter->most <= TAGGED_WORD_ADDRESS;
	filter->address_bits = has_tags ? TAGGED_WORD_ADDRESS : UINT64_MAX;
	filter_limit(filter, filter->least, filter->most);
	filter->run = has_tags || word == 4 ? fastest(word, speed) : NULL;
	if (!filter->run)
		filter->run = word == 8 ? portable64 : portable32;
}
