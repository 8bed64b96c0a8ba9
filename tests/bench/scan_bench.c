/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The throughput of the leak scan, compared with only reading the same memory of the same child.
 * Prints the ratio for each kind of content, on one core and with reading ahead, and how long the
 * child would have been stopped for a copy. Each round reads and scans once, one after the other,
 * and has its own ratio. The median, the lowest and the highest ratio are printed.
 *
 * scan_bench [WORKLOAD [1]]: all workloads, or one by its number; with 1, on one core only.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/memory/memory.h"
#include "os/process/proc.h"
#include "scan/block/filter.h"
#include "scan/read/copy.h"
#include "scan/scan.h"

#define MIB    (1024.0 * 1024.0)
#define ROUNDS 7
#define CHUNK  (1024 * 1024) /* at most */
#define UNIT   8192          /* bytes that are filtered at a time */

struct workload {
	const char *name;
	size_t blocks;
	size_t block_size; /* with malloc's header */
	void (*fill)(const struct workload *workload, uint64_t *words, size_t count);
};

static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/*
 * Like real programs: one word in sixteen is a pointer, mostly to a nearby block; the rest is text,
 * small numbers and zeros.
 */
static void fill_ordinary(const struct workload *workload, uint64_t *words, size_t count)
{
	static const uint64_t others[] = {0x6f77206f6c6c6568ULL, 0, 0, 17, 4096};
	uint64_t seed = 88172645463325252ULL, base = (uint64_t)(uintptr_t)words;
	size_t stride = workload->block_size / 8;

	for (size_t i = 0; i < count; i++) {
		uint64_t kind = random_next(&seed), target = i / stride + kind / 256 % 64;

		if (kind % 256 == 0)
			target = random_next(&seed);
		words[i] = kind % 16 ? others[kind / 16 % 5]
				     : base + target % workload->blocks * workload->block_size;
	}
}

/* Only text and numbers, except for a chain that reaches every block. */
static void fill_plain(const struct workload *workload, uint64_t *words, size_t count)
{
	uint64_t seed = 88172645463325252ULL;
	size_t stride = workload->block_size / 8;

	for (size_t i = 0; i < count; i++)
		words[i] = i % stride ? random_next(&seed) % (i % 3 ? 1000 : UINT64_MAX)
				      : (uint64_t)(uintptr_t)(words + i + stride);
}

static void fill_sparse(const struct workload *workload, uint64_t *words, size_t count)
{
	uint64_t seed = 88172645463325252ULL, base = (uint64_t)(uintptr_t)words;

	for (size_t i = 0; i < count; i++)
		if (random_next(&seed) % 10 == 0)
			words[i] =
				base + random_next(&seed) % workload->blocks * workload->block_size;
}

static void fill_pointers(const struct workload *workload, uint64_t *words, size_t count)
{
	uint64_t seed = 88172645463325252ULL, base = (uint64_t)(uintptr_t)words;

	for (size_t i = 0; i < count; i++)
		words[i] = base + random_next(&seed) % workload->blocks * workload->block_size;
}

/* The same, but nothing points to one block in a hundred, so the search for them never ends. */
static void fill_leaky(const struct workload *workload, uint64_t *words, size_t count)
{
	uint64_t seed = 88172645463325252ULL, base = (uint64_t)(uintptr_t)words;

	for (size_t i = 0; i < count; i++) {
		uint64_t target = random_next(&seed) % workload->blocks;

		words[i] = base + (target - (target % 100 == 99)) * workload->block_size;
	}
}

static void fill_interior(const struct workload *workload, uint64_t *words, size_t count)
{
	uint64_t seed = 88172645463325252ULL, base = (uint64_t)(uintptr_t)words;

	(void)workload;
	for (size_t i = 0; i < count; i++)
		words[i] = base + random_next(&seed) % (count * 8);
}

/* A single list of all blocks in random order. */
static void fill_list(const struct workload *workload, uint64_t *words, size_t count)
{
	uint64_t seed = 88172645463325252ULL;
	uint32_t *order = malloc(workload->blocks * sizeof(*order));
	size_t stride = workload->block_size / 8;

	(void)count;
	for (uint32_t i = 0; i < workload->blocks; i++) {
		uint32_t other = (uint32_t)(random_next(&seed) % (i + 1));

		order[i] = order[other];
		order[other] = i;
	}
	for (size_t i = 0; i + 1 < workload->blocks; i++)
		words[order[i] * stride] = (uint64_t)(uintptr_t)(words + order[i + 1] * stride);
	words[order[workload->blocks - 1] * stride] =
		(uint64_t)(uintptr_t)(words + order[0] * stride);
	free(order);
}

/* Each block points to two others, as in a graph of objects. */
static void fill_graph(const struct workload *workload, uint64_t *words, size_t count)
{
	uint64_t seed = 88172645463325252ULL, base = (uint64_t)(uintptr_t)words;
	size_t stride = workload->block_size / 8;

	for (size_t i = 0; i + 1 < count; i += stride)
		for (size_t j = 0; j < 2; j++)
			words[i + j] =
				base + random_next(&seed) % workload->blocks * workload->block_size;
}

/* Like malloc: the word before a block is the size of its chunk. */
static void put_headers(const struct workload *workload, uint64_t *words, size_t count)
{
	size_t stride = workload->block_size / 8;

	for (size_t i = stride - 1; i < count; i += stride)
		words[i] = workload->block_size | 1;
}

static const struct workload workloads[] = {
	{"text and numbers", 1000000, 1072, fill_plain},
	{"text and numbers, large blocks", 100000, 10720, fill_plain},
	{"ordinary data", 1000000, 1072, fill_ordinary},
	{"a random graph, each tenth word a pointer", 1000000, 1072, fill_sparse},
	{"every word a pointer", 1000000, 1072, fill_pointers},
	{"every word a pointer, some blocks lost", 1000000, 1072, fill_leaky},
	{"every word an interior pointer", 1000000, 1072, fill_interior},
	{"small blocks, one list in random order", 1000000, 64, fill_list},
	{"small blocks, a random graph", 1000000, 64, fill_graph},
};

struct target {
	struct memory memory;
	struct scan_range range;
	uint64_t root[16];
};

static int next_extent(void *ctx, uint64_t address, uint64_t end, struct scan_extent *ret_extent)
{
	(void)ctx;
	*ret_extent = (struct scan_extent){address, end, true};
	return 1;
}

static ssize_t read_pieces(void *ctx, const struct memory_piece *pieces, size_t count, void *buffer)
{
	return memory_read(&((struct target *)ctx)->memory, pieces, count, buffer);
}

/* On one core, measures CPU time, which excludes other processes on the machine. */
static double seconds_now(bool processor)
{
	struct timespec now;

	clock_gettime(processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/*
 * How all memory is read. With a filter, each word passes through it, as if there were no blocks.
 */
struct reading {
	size_t chunk;
	void *buffer;
	const struct filter *filter;
};

static void filter_chunk(const struct filter *filter, const unsigned char *data, size_t size)
{
	static uint64_t words[UNIT / 8];
	static uint32_t positions[UNIT / 8];

	for (size_t at = 0; at < size; at += UNIT)
		filter_run(filter, data + at, (size - at < UNIT ? size - at : UNIT) / 8, words,
			   positions);
}

static double read_raw(struct target *target, const struct reading *reading, bool ahead)
{
	double start = seconds_now(!ahead);

	for (uint64_t at = target->range.start; at < target->range.end; at += reading->chunk) {
		uint64_t left = target->range.end - at;
		struct memory_piece piece = {at, left < reading->chunk ? left : reading->chunk};

		if (memory_read(&target->memory, &piece, 1, reading->buffer) <= 0)
			exit(1);
		if (reading->filter)
			filter_chunk(reading->filter, reading->buffer, piece.size);
	}
	return seconds_now(!ahead) - start;
}

/*
 * For a fair comparison, uses the fastest chunk size and our own pages. The first run is discarded:
 * reading gives us private copies of the pages that the child shares with us.
 */
static struct reading fastest_reading(struct target *target, bool ahead)
{
	static const size_t chunks[] = {CHUNK / 16, CHUNK / 8, CHUNK / 4, CHUNK / 2, CHUNK};
	struct reading reading = {CHUNK, aligned_alloc(4096, CHUNK), NULL}, best = reading;
	double least = read_raw(target, &reading, ahead) * 1000;

	for (size_t i = 0; i < 3 * sizeof(chunks) / sizeof(chunks[0]); i++) {
		double spent;

		reading.chunk = chunks[i % (sizeof(chunks) / sizeof(chunks[0]))];
		spent = read_raw(target, &reading, ahead);
		if (spent < least)
			best = reading;
		least = spent < least ? spent : least;
	}
	return best;
}

static void note_time(void *ctx)
{
	*(double *)ctx = seconds_now(false);
}

/* The root is in a register, which the program still reads. */
static int classify_live(void *ctx, const struct scan_memory *memory,
			 struct scan_reference *references, size_t count)
{
	(void)ctx;
	(void)memory;
	for (size_t i = 0; i < count; i++)
		references[i].answer = REFERENCE_LIVE;
	return 0;
}

/* Returns the seconds until the end. *ret_collected: until the child could continue. */
static double read_and_scan(struct blocks *blocks, struct target *target, bool ahead,
			    struct copy *copy, struct scan_result *result, double *ret_collected)
{
	struct scan_memory memory = {next_extent, read_pieces, target};
	struct scan_bytes root = {target->root, sizeof(target->root)};
	struct scan_input input = {.memory = &memory,
				   .ranges = &target->range,
				   .range_count = 1,
				   .registers = &root,
				   .register_count = 1,
				   .word = 8,
				   .step = 8,
				   .heap_is_known = true,
				   .classify = classify_live,
				   .read_ahead = ahead,
				   .copy = copy,
				   .collected = note_time,
				   .collected_ctx = ret_collected};
	double start = seconds_now(!ahead), wall = seconds_now(false);

	if (scan_run(blocks, &input, result))
		exit(1);
	*ret_collected -= wall;
	return seconds_now(!ahead) - start;
}

/* The times of one measurement's rounds: reading, and what is compared with it. */
struct rounds {
	double raw[ROUNDS];
	double filtered[ROUNDS];
	double other[ROUNDS];
};

static int compare(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* In ascending order: the middle one is the median. */
static const double *sorted(const double values[ROUNDS], double copy[ROUNDS])
{
	memcpy(copy, values, ROUNDS * sizeof(*copy));
	qsort(copy, ROUNDS, sizeof(*copy), compare);
	return copy;
}

static double median(const double values[ROUNDS])
{
	double copy[ROUNDS];

	return sorted(values, copy)[ROUNDS / 2];
}

/* Prints the median, lowest and highest ratio of `over` to `under`. */
static void print_ratios(const char *format, const double *over, const double *under, double unit)
{
	double ratios[ROUNDS], copy[ROUNDS];
	const double *order;

	for (int i = 0; i < ROUNDS; i++)
		ratios[i] = over[i] / under[i] * unit;
	order = sorted(ratios, copy);
	printf(format, order[ROUNDS / 2], order[0], order[ROUNDS - 1]);
}

static void measure(const struct workload *workload, struct target *target, struct blocks *blocks,
		    bool ahead)
{
	double collected, bytes = (double)(target->range.end - target->range.start);
	struct reading raw = fastest_reading(target, ahead), filtered = raw;
	struct rounds rounds;
	struct scan_result result;
	struct filter filter;

	filter_init(&filter, 8, blocks->low, blocks->high, FILTER_FASTEST);
	filtered.filter = &filter;
	for (int i = 0; i < ROUNDS; i++) {
		rounds.raw[i] = read_raw(target, &raw, ahead);
		rounds.filtered[i] = read_raw(target, &filtered, ahead);
		rounds.other[i] = read_and_scan(blocks, target, ahead, NULL, &result, &collected);
		scan_result_free(&result);
	}
	printf("%-42s %-8s raw %6.0f MiB/s  scan %6.0f MiB/s", workload->name,
	       ahead ? "2 cores" : "1 core", bytes / MIB / median(rounds.raw),
	       bytes / MIB / median(rounds.other));
	print_ratios("  %4.0f%% (%.0f to %.0f)", rounds.raw, rounds.other, 100);
	print_ratios("  filter alone %3.0f%%", rounds.raw, rounds.filtered, 100);
	printf("  %.1f B/block  read again %.0f MiB  reachable %llu possible %llu lost %llu\n",
	       (double)result.memory / (double)workload->blocks,
	       (double)result.bytes_read_again / MIB,
	       (unsigned long long)result.classes[LEAK_REACHABLE].blocks,
	       (unsigned long long)result.classes[LEAK_POSSIBLE].blocks,
	       (unsigned long long)(result.classes[LEAK_DEFINITE].blocks +
				    result.classes[LEAK_INDIRECT].blocks));
	free(raw.buffer);
}

/* Both in wall clock time, which is what the process notices. */
static void measure_pause(const struct workload *workload, struct target *target,
			  struct blocks *blocks, int cores)
{
	struct reading raw = fastest_reading(target, true);
	struct rounds rounds;
	struct scan_result result;
	double scanned[ROUNDS];
	struct copy *copy;

	if (copy_open(&copy, target->range.end - target->range.start + CHUNK))
		exit(1);
	for (int i = 0; i < ROUNDS; i++) {
		rounds.raw[i] = read_raw(target, &raw, true);
		scanned[i] =
			read_and_scan(blocks, target, cores > 1, copy, &result, &rounds.other[i]);
		scan_result_free(&result);
	}
	printf("%-42s pause, %d %s raw %6.0f ms     pause %5.0f ms   ", workload->name, cores,
	       cores > 1 ? "cores" : "core ", median(rounds.raw) * 1e3, median(rounds.other) * 1e3);
	print_ratios("  x%.2f (%.2f to %.2f)", rounds.other, rounds.raw, 1);
	printf("  scan %5.0f ms\n", median(scanned) * 1e3);
	copy_close(copy);
	free(raw.buffer);
}

static double make_blocks(const struct workload *workload, uint64_t base, struct blocks *blocks)
{
	uint64_t start = clock_now_ns();

	if (blocks_reserve(blocks, workload->blocks))
		exit(1);
	for (size_t i = 0; i < workload->blocks; i++) /* in an order that gives no advantage */
		blocks_add(blocks, base + i * 7919 % workload->blocks * workload->block_size,
			   workload->block_size - 8);
	if (blocks_seal(blocks))
		exit(1);
	return (double)(clock_now_ns() - start) * 1e-6;
}

static void run(const struct workload *workload, bool one_core)
{
	size_t size = (workload->blocks * workload->block_size + 4095) / 4096 * 4096;
	uint64_t *words =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t base = (uint64_t)(uintptr_t)words;
	struct target target = {.range = {base, base + size}, .root = {base}};
	struct blocks blocks = {0};
	pid_t child;

	if (words == MAP_FAILED)
		exit(1);
	workload->fill(workload, words, size / 8);
	put_headers(workload, words, size / 8);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (memory_open(&target.memory, child))
		exit(1);
	printf("%-42s sorting and packing %zu blocks: %.1f ms\n", workload->name, workload->blocks,
	       make_blocks(workload, base, &blocks));
	measure(workload, &target, &blocks, false);
	if (!one_core) {
		measure(workload, &target, &blocks, true);
		measure_pause(workload, &target, &blocks, 1);
		measure_pause(workload, &target, &blocks, 2);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	memory_close(&target.memory);
	blocks_free(&blocks);
	munmap(words, size);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		if (argc < 2 || (size_t)atoi(argv[1]) == i)
			run(&workloads[i], argc > 2);
	return 0;
}
