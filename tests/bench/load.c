/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workloads of the benchmark other than plain pairs (pairs.c). For each line "KIND WIDTH COUNT" on
 * standard input, it makes COUNT malloc+free pairs of that kind and answers with nanoseconds per
 * pair of wall clock time. `load WORKERS` keeps that many threads from start to end, because the C
 * library allocates when a thread starts and frees when it ends. So after its first answer, each
 * traced call is a requested one.
 *
 *    mixed LIVE N       blocks of all sizes, LIVE of them live: each new one replaces a random one
 *    small LIVE N       the same with 16 to 64 bytes
 *    handover SLOTS N   one thread allocates, another one frees
 *    threads T N        T threads make N pairs in total: workers, if there are enough
 *    processes P N      P children make N pairs in total
 *    sites S N          from S places in turn, with distinct stacks of the same depth
 *    pause LIVE N       N pairs of LIVE bytes, with a wait of 100 us after each 10
 *    chain N SIZE       N blocks of SIZE bytes, each pointing to the next, which stay live
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SITE_BITS 20 /* call depth of each pair of "sites": a million paths */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void make_pairs(unsigned long count, size_t size)
{
	for (unsigned long i = 0; i < count; i++) {
		char *volatile block = malloc(size + i % 64);

		free(block);
	}
}

/* The live blocks of "mixed" and "small". */
static struct {
	void **blocks;
	unsigned long count;
	unsigned long room;
	uint64_t seed;
} live = {.seed = 88172645463325252ULL};

/*
 * Most blocks are small, as in real programs: one in 16 has up to 4 KiB, one in 256 up to 64 KiB.
 */
static size_t any_size(uint64_t random)
{
	return random % 256 == 0  ? random >> 8 & 0xffff
	       : random % 16 == 0 ? random >> 8 & 0xfff
				  : 16 + (random >> 8 & 0xff);
}

static size_t small_size(uint64_t random)
{
	return 16 + (random >> 8) % 49;
}

/* One malloc, and a free of the old array: realloc would report two records. */
static void make_room(unsigned long count)
{
	void **blocks = malloc(count * sizeof(*blocks));

	if (!blocks)
		abort();
	if (live.count)
		memcpy(blocks, live.blocks, live.count * sizeof(*blocks));
	free(live.blocks);
	live.blocks = blocks;
	live.room = count;
}

static void have_live(unsigned long count, size_t (*size)(uint64_t))
{
	if (count > live.room)
		make_room(count);
	while (live.count < count)
		live.blocks[live.count++] = malloc(size(random_next(&live.seed)));
	while (live.count > count)
		free(live.blocks[--live.count]);
}

static void replace(unsigned long count, size_t (*size)(uint64_t))
{
	for (unsigned long i = 0; i < count; i++) {
		uint64_t random = random_next(&live.seed);
		void **slot = &live.blocks[random % live.count];

		free(*slot);
		*slot = malloc(size(random >> 32));
	}
}

static void prepare_mixed(unsigned long count)
{
	have_live(count, any_size);
}

static void run_mixed(unsigned long width, unsigned long count)
{
	(void)width;
	replace(count, any_size);
}

static void prepare_small(unsigned long count)
{
	have_live(count, small_size);
}

static void run_small(unsigned long width, unsigned long count)
{
	(void)width;
	replace(count, small_size);
}

/* One writer, one reader: the blocks between the two positions are in flight. */
struct belt {
	void **slots;
	unsigned long size;
	unsigned long count;
	_Alignas(64) atomic_ulong put;
	_Alignas(64) atomic_ulong taken;
};

static void *take_all(void *argument)
{
	struct belt *belt = argument;

	for (unsigned long i = 0; i < belt->count; i++) {
		while (atomic_load_explicit(&belt->put, memory_order_acquire) == i)
			sched_yield();
		free(belt->slots[i % belt->size]);
		atomic_store_explicit(&belt->taken, i + 1, memory_order_release);
	}
	return NULL;
}

static void run_handover(unsigned long width, unsigned long count)
{
	struct belt belt = {calloc(width, sizeof(void *)), width, count, 0, 0};
	pthread_t taker;

	if (!belt.slots || pthread_create(&taker, NULL, take_all, &belt))
		abort();
	for (unsigned long i = 0; i < count; i++) {
		while (i - atomic_load_explicit(&belt.taken, memory_order_acquire) == width)
			sched_yield();
		belt.slots[i % width] = malloc(64 + i % 64);
		atomic_store_explicit(&belt.put, i + 1, memory_order_release);
	}
	pthread_join(taker, NULL);
	free(belt.slots);
}

static void *thread_pairs(void *argument)
{
	make_pairs((unsigned long)(uintptr_t)argument, 64);
	return NULL;
}

static void run_new_threads(unsigned long width, unsigned long count)
{
	pthread_t threads[width];

	for (unsigned long i = 0; i < width; i++)
		if (pthread_create(&threads[i], NULL, thread_pairs,
				   (void *)(uintptr_t)(count / width)))
			abort();
	for (unsigned long i = 0; i < width; i++)
		pthread_join(threads[i], NULL);
}

/* Threads that make pairs on request. */
static struct {
	unsigned long count;
	unsigned long pairs; /* pairs that each must make */
	sem_t asked, done;
} workers;

static void *work(void *unused)
{
	(void)unused;
	while (!sem_wait(&workers.asked)) {
		make_pairs(workers.pairs, 64);
		sem_post(&workers.done);
	}
	return NULL;
}

static void start_workers(unsigned long count)
{
	pthread_t thread;

	workers.count = count;
	if (sem_init(&workers.asked, 0, 0) || sem_init(&workers.done, 0, 0))
		abort();
	for (unsigned long i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, work, NULL))
			abort();
}

static void run_workers(unsigned long width, unsigned long count)
{
	workers.pairs = count / width;
	for (unsigned long i = 0; i < width; i++)
		sem_post(&workers.asked);
	for (unsigned long i = 0; i < width; i++)
		while (sem_wait(&workers.done))
			;
}

static void run_threads(unsigned long width, unsigned long count)
{
	if (width <= workers.count)
		run_workers(width, count);
	else
		run_new_threads(width, count);
}

static void run_processes(unsigned long width, unsigned long count)
{
	for (unsigned long i = 0; i < width; i++) {
		pid_t pid = fork();

		if (pid < 0)
			abort();
		if (!pid) {
			make_pairs(count / width, 64);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

/* Each path has a different stack. The asm comments keep the compiler from merging the calls. */
__attribute__((noinline, noclone)) static int descend(unsigned long way, int bits)
{
	int depth;

	if (!bits) {
		make_pairs(1, 64);
		return 0;
	}
	if (way & 1) {
		depth = descend(way >> 1, bits - 1);
		__asm__ volatile("# right");
		return depth + 1;
	}
	depth = descend(way >> 1, bits - 1);
	__asm__ volatile("# left");
	return depth + 1;
}

static void run_sites(unsigned long width, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		descend(i % width, SITE_BITS);
}

static void run_pause(unsigned long width, unsigned long count)
{
	const struct timespec wait = {.tv_nsec = 100000};

	for (unsigned long i = 0; i < count; i += 10) {
		make_pairs(10, width);
		nanosleep(&wait, NULL);
	}
}

static void *volatile chain;

static void run_chain(unsigned long width, unsigned long count)
{
	size_t size = count < sizeof(void *) ? sizeof(void *) : count;

	for (unsigned long i = 0; i < width; i++) {
		void **block = malloc(size);

		memset(block, 0x5a, size);
		*block = chain;
		chain = block;
	}
}

static const struct kind {
	const char *name;
	void (*run)(unsigned long width, unsigned long count);
	void (*prepare)(unsigned long width); /* not measured */
} kinds[] = {
	{"mixed", run_mixed, prepare_mixed}, {"small", run_small, prepare_small},
	{"handover", run_handover, NULL},    {"threads", run_threads, NULL},
	{"processes", run_processes, NULL},  {"sites", run_sites, NULL},
	{"pause", run_pause, NULL},          {"chain", run_chain, NULL},
};

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long width, count;
	char name[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	start_workers(argc > 1 ? strtoul(argv[1], NULL, 10) : 0);
	while (scanf("%15s %lu %lu", name, &width, &count) == 3) {
		const struct kind *kind = find_kind(name);
		double start;

		if (!kind || !width || !count)
			return 2;
		if (kind->prepare)
			kind->prepare(width);
		start = seconds();
		kind->run(width, count);
		printf("%.2f\n", (seconds() - start) * 1e9 / (double)count);
	}
	return 0;
}
