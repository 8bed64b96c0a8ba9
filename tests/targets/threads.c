/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads THREADS ROUNDS [MODE]: threads that allocate at the same time.
 *
 *	pairs	each thread allocates and frees, ROUNDS times, and leaks three blocks
 *	cross	each thread frees blocks that another one allocated
 *	realloc	each thread grows and shrinks a block: addresses move from thread to thread
 *	tcache	each thread frees seven blocks (a full thread cache of glibc) and exits
 */
#include "truth.h"

#include <pthread.h>

#define THREADS_MAX 256
#define LEAKED      3
#define TCACHE_FULL 7

struct worker {
	pthread_t thread;
	size_t index;
	void (*work)(struct worker *worker);
};

static struct worker workers[THREADS_MAX];
static size_t thread_count, rounds;
static pthread_barrier_t start;

NOINLINE static struct block t_pair(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_leak(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_calloc(size_t size)
{
	BOOKED(calloc, 4 * size, calloc(4, size));
}

NOINLINE static struct block t_realloc(struct block old, size_t size)
{
	SITE("realloc");
	void *address = realloc(old.address, size);

	truth_freed(old);
	return truth_allocated(&site, size, address);
}

static void work_pairs(struct worker *worker)
{
	size_t i;

	for (i = 0; i < rounds; i++) {
		struct block small = t_pair(i % 1000 + 1), zeroed = t_calloc(i % 100 + 1);

		t_free(small);
		t_free(zeroed);
	}
	for (i = 0; i < LEAKED; i++)
		t_leak(worker->index + 1);
}

/* A slot: one thread puts a block into it, and another one takes it. */
static struct {
	_Atomic int locked;
	struct block block;
} exchange[THREADS_MAX];

static struct block exchanged(size_t place, struct block block)
{
	struct block old;

	while (__atomic_exchange_n(&exchange[place].locked, 1, __ATOMIC_ACQUIRE))
		;
	old = exchange[place].block;
	exchange[place].block = block;
	__atomic_store_n(&exchange[place].locked, 0, __ATOMIC_RELEASE);
	return old;
}

static void work_cross(struct worker *worker)
{
	size_t i;

	for (i = 0; i < rounds; i++)
		t_free(exchanged((worker->index + i) % thread_count, t_pair(i % 500 + 1)));
}

static void work_realloc(struct worker *worker)
{
	struct block block = {0};
	size_t i;

	(void)worker;
	for (i = 0; i < rounds; i++)
		block = t_realloc(block, (i * 7919) % 5000 + 1);
	t_free(block);
}

static void work_tcache(struct worker *worker)
{
	struct block blocks[TCACHE_FULL];
	size_t i, round;

	(void)worker;
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < TCACHE_FULL; i++)
			blocks[i] = t_pair(40);
		for (i = 0; i < TCACHE_FULL; i++)
			t_free(blocks[i]);
	}
}

static const struct {
	const char *name;
	void (*work)(struct worker *worker);
} modes[] = {
	{"pairs", work_pairs},
	{"cross", work_cross},
	{"realloc", work_realloc},
	{"tcache", work_tcache},
};

static void *run(void *argument)
{
	struct worker *worker = argument;

	pthread_barrier_wait(&start);
	worker->work(worker);
	return NULL;
}

static void run_all(void (*work)(struct worker *worker))
{
	size_t i;

	if (pthread_barrier_init(&start, NULL, (unsigned int)thread_count))
		abort();
	for (i = 0; i < thread_count; i++) {
		workers[i].index = i;
		workers[i].work = work;
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
			abort();
	}
	for (i = 0; i < thread_count; i++)
		pthread_join(workers[i].thread, NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[3] : "pairs";
	size_t i;

	if (argc < 3)
		return 2;
	thread_count = strtoul(argv[1], NULL, 10);
	rounds = strtoul(argv[2], NULL, 10);
	if (!thread_count || thread_count > THREADS_MAX)
		return 2;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, mode))
			run_all(modes[i].work);
	truth_tell(STDOUT_FILENO, "");
	return 0;
}
