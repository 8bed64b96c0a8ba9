/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steady [THREADS [PROGRAM]]: a program to attach to. Prints READY, then executes a command for
 * each byte on standard input, and answers each with one line: the truth so far. It is idle between
 * commands.
 *
 *	w	every thread does a round of allocations, and fills the blocks that it keeps
 *	p	every thread makes PAIRS pairs of malloc and free, as fast as it can
 *	b	a child makes PAIRS pairs, and exits; its truth is not printed
 *	e	execute PROGRAM, or steady again: prints READY, and the truth starts at zero
 *	f	free the blocks from before READY (a tracer that attached later does not know them)
 *	c	check the contents of all blocks that are kept
 *	q	exit, as at end of file
 */
#include "truth.h"

#include <pthread.h>
#include <sys/wait.h>

#define THREADS_MAX 64
#define ROUND       200
#define PAIRS       5000
#define OLD         50
#define KEPT_MAX    65536

struct worker {
	pthread_t thread;
	unsigned int index;
};

static struct worker workers[THREADS_MAX];
static struct block old_blocks[OLD];
static struct block kept[KEPT_MAX];
static uint64_t kept_count, corrupt, rounds;
static pthread_barrier_t begin, end;

NOINLINE static struct block t_old(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_work(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_kept(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_calloc(size_t size)
{
	BOOKED(calloc, size, calloc(1, size));
}

NOINLINE static struct block t_realloc(struct block old, size_t size)
{
	SITE("realloc");
	void *address = realloc(old.address, size);

	truth_freed(old);
	return truth_allocated(&site, size, address);
}

NOINLINE static struct block t_map(size_t size)
{
	BOOKED(mmap, size,
	       mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

NOINLINE static void t_unmap(struct block block)
{
	truth_freed(block);
	munmap(block.address, block.size);
}

static void keep(struct block block, unsigned int index)
{
	uint64_t place = __atomic_fetch_add(&kept_count, 1, __ATOMIC_RELAXED);

	if (place >= KEPT_MAX) {
		t_free(block);
		return;
	}
	memset(block.address, (int)(place * 31 + 7) & 0xff, block.size);
	kept[place] = block;
	(void)index;
}

static void check(void)
{
	uint64_t i, count = kept_count < KEPT_MAX ? kept_count : KEPT_MAX;
	size_t byte;

	for (i = 0; i < count; i++)
		for (byte = 0; byte < kept[i].size; byte++)
			if (((unsigned char *)kept[i].address)[byte] != ((i * 31 + 7) & 0xff))
				corrupt++;
}

static void work(const struct worker *worker)
{
	size_t i;

	for (i = 1; i <= ROUND; i++) {
		struct block block = t_work(i);

		block = t_realloc(block, i * 3);
		t_free(t_realloc((struct block){0}, i)); /* same as malloc */
		t_free(t_calloc(i));
		t_free(block);
		if (i % 50 == 0)
			keep(t_kept(i), worker->index);
		if (i % 100 == 0)
			t_unmap(t_map(8192));
	}
}

static void make_pairs(const struct worker *worker)
{
	size_t i;

	(void)worker;
	for (i = 1; i <= PAIRS; i++)
		t_free(t_work(i % 1000));
}

static void (*todo)(const struct worker *worker);

static void *run(void *argument)
{
	for (;;) {
		pthread_barrier_wait(&begin);
		todo(argument);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static void start(unsigned int threads)
{
	unsigned int i;

	if (pthread_barrier_init(&begin, NULL, threads + 1) ||
	    pthread_barrier_init(&end, NULL, threads + 1))
		abort();
	for (i = 0; i < threads; i++) {
		workers[i].index = i;
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
			abort();
	}
	for (i = 0; i < OLD; i++)
		old_blocks[i] = t_old(64);
}

static void all_do(void (*what)(const struct worker *worker))
{
	todo = what;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	rounds++;
}

static void bear(void)
{
	pid_t child = fork();

	if (!child) {
		make_pairs(NULL);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		abort();
}

static void free_old(void)
{
	int i;

	for (i = 0; i < OLD; i++)
		t_free(old_blocks[i]);
	memset(old_blocks, 0, sizeof(old_blocks));
}

static void answer(void)
{
	char extra[96];

	snprintf(extra, sizeof(extra), ",\"rounds\":%llu,\"corrupt\":%llu",
		 (unsigned long long)rounds, (unsigned long long)corrupt);
	truth_tell(STDOUT_FILENO, extra);
}

int main(int argc, char **argv)
{
	unsigned long threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	char command;

	if (!threads || threads > THREADS_MAX)
		return 2;
	start((unsigned int)threads);
	truth_write(STDOUT_FILENO, "READY\n", 6);
	while (read(STDIN_FILENO, &command, 1) == 1 && command != 'q') {
		if (command == 'w')
			all_do(work);
		else if (command == 'p')
			all_do(make_pairs);
		else if (command == 'b')
			bear();
		else if (command == 'e')
			execv(argv[argc > 2 ? 2 : 0], argv);
		else if (command == 'f')
			free_old();
		else if (command == 'c')
			check();
		answer();
	}
	return 0;
}
