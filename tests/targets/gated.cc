// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gated [THREADS]: a program to attach to, which allocates by every function that can have a gate.
 * Prints READY, then executes a command for each byte on standard input, and answers each with one
 * line: the truth so far.
 *
 *	w	every thread does a round of allocations, and keeps some of the blocks
 *	l	leak LEAKED blocks
 *	f	free all blocks that are kept
 *	x	every thread catches a bad_alloc, THROWN times
 *	k	a child does a round, frees all blocks, and exits with CHILD_STATUS
 *	s	start such a child, which waits for "r"; "child" is its process id
 *	r	let it run; "child" is its status, as from wait
 *	e	execute itself: prints READY, and the truth starts at zero
 *	t	nothing
 *	q	exit, as at end of file
 *
 * Blocks are filled, and checked when they are released: "corrupt" counts those that have changed.
 */
#include "truth.h"

#include <new>
#include <pthread.h>
#include <sys/wait.h>

#define THREADS_MAX  16
#define STEPS        20000
#define SLOTS        256
#define LEAKED       3000
#define LEAK_SIZE    4000
#define THROWN       50
#define CHILD_STATUS 42

static const size_t huge = SIZE_MAX / 16 + 1;
static const std::align_val_t aligned = std::align_val_t(64);

struct slot {
	struct block block;
	void (*release)(void *address);
	unsigned char mark;
};

struct worker {
	pthread_t thread;
	uint64_t random;
	struct slot slots[SLOTS];
};

static struct worker workers[THREADS_MAX];
static unsigned long thread_count = 1;
static uint64_t corrupt, caught;
static pid_t child;
static int child_input;
static int child_status = -1;
static pthread_barrier_t begin, end;

NOINLINE static struct block t_malloc(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_calloc(size_t size)
{
	BOOKED(calloc, size, calloc(1, size));
}

NOINLINE static struct block t_posix_memalign(size_t size)
{
	SITE("posix_memalign");
	void *address = NULL;
	int status = posix_memalign(&address, 64, size);

	return truth_allocated(&site, size, status ? NULL : address);
}

NOINLINE static struct block t_aligned_alloc(size_t size)
{
	BOOKED(aligned_alloc, size, aligned_alloc(64, size));
}

NOINLINE static struct block t_realloc(struct block old, size_t size)
{
	SITE("realloc");
	void *address = realloc(old.address, size);

	truth_freed(old);
	return truth_allocated(&site, size, address);
}

NOINLINE static struct block t_reallocarray(struct block old, size_t size)
{
	SITE("reallocarray");
	void *address = reallocarray(old.address, size / 64, 64);

	truth_freed(old);
	return truth_allocated(&site, size, address);
}

NOINLINE static struct block t_new(size_t size)
{
	BOOKED(operator new, size, ::operator new(size));
}

NOINLINE static struct block t_new_array(size_t size)
{
	BOOKED(operator new[], size, ::operator new[](size));
}

NOINLINE static struct block t_new_nothrow(size_t size)
{
	BOOKED(operator new, size, ::operator new(size, std::nothrow));
}

NOINLINE static struct block t_new_aligned(size_t size)
{
	BOOKED(operator new, size, ::operator new(size, aligned));
}

NOINLINE static struct block t_leak(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

static void delete_plain(void *address)
{
	::operator delete(address);
}

static void delete_array(void *address)
{
	::operator delete[](address);
}

static void delete_aligned(void *address)
{
	::operator delete(address, aligned);
}

static const struct {
	struct block (*allocate)(size_t size);
	void (*release)(void *address);
} forms[] = {
	{t_malloc, free},
	{t_calloc, free},
	{t_posix_memalign, free},
	{t_aligned_alloc, free},
	{t_new, delete_plain},
	{t_new_array, delete_array},
	{t_new_nothrow, delete_plain},
	{t_new_aligned, delete_aligned},
};

#define FORMS (sizeof(forms) / sizeof(forms[0]))

/* xorshift64 (Marsaglia 2003) */
static uint64_t draw(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random >> 8;
}

/* Multiples of 64: an aligned operator new rounds other sizes up. */
static size_t any_size(struct worker *worker)
{
	return 64 * (1 + draw(worker) % (draw(worker) % 64 ? 16 : 500));
}

static bool is_marked(const struct slot *slot, size_t at)
{
	return ((unsigned char *)slot->block.address)[at] == slot->mark;
}

static void check(const struct slot *slot)
{
	if (!is_marked(slot, 0) || !is_marked(slot, slot->block.size - 1))
		truth_add(&corrupt, 1);
}

static void fill(struct slot *slot, unsigned char mark)
{
	if (!slot->block.address)
		abort();
	slot->mark = mark;
	memset(slot->block.address, mark, slot->block.size);
}

static void release(struct slot *slot)
{
	if (!slot->block.address)
		return;
	check(slot);
	truth_freed(slot->block);
	slot->release(slot->block.address);
	slot->block.address = NULL;
}

static void resize(struct worker *worker, struct slot *slot)
{
	bool kept = slot->block.address;

	if (kept)
		check(slot);
	slot->block = draw(worker) % 2 ? t_realloc(slot->block, any_size(worker))
				       : t_reallocarray(slot->block, any_size(worker));
	slot->release = free;
	if (kept && !is_marked(slot, 0))
		truth_add(&corrupt, 1);
}

static void step(struct worker *worker)
{
	struct slot *slot = &worker->slots[draw(worker) % SLOTS];
	size_t form = draw(worker) % (FORMS + 3);

	if (form >= FORMS && (!slot->block.address || slot->release == free)) {
		resize(worker, slot);
	} else {
		release(slot);
		slot->block = forms[form % FORMS].allocate(any_size(worker));
		slot->release = forms[form % FORMS].release;
	}
	fill(slot, (unsigned char)draw(worker));
}

static void work(struct worker *worker)
{
	for (int i = 0; i < STEPS; i++)
		step(worker);
}

static void free_all(struct worker *worker)
{
	for (struct slot &slot : worker->slots)
		release(&slot);
}

static void catch_all(struct worker *worker)
{
	(void)worker;
	for (int i = 0; i < THROWN; i++) {
		try {
			::operator delete(::operator new(truth_opaque(huge)));
		} catch (const std::bad_alloc &) {
			truth_add(&caught, 1);
		}
	}
}

static void (*todo)(struct worker *worker);

static void *run(void *argument)
{
	for (;;) {
		pthread_barrier_wait(&begin);
		todo((struct worker *)argument);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static void all_do(void (*what)(struct worker *worker))
{
	todo = what;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
}

static void start()
{
	pthread_barrier_init(&begin, NULL, (unsigned int)thread_count + 1);
	pthread_barrier_init(&end, NULL, (unsigned int)thread_count + 1);
	for (unsigned long i = 0; i < thread_count; i++) {
		workers[i].random = 88172645463325252ULL + i;
		if (pthread_create(&workers[i].thread, NULL, run, &workers[i]))
			abort();
	}
}

static void live_as_child(int input)
{
	char end_of_file;

	if (read(input, &end_of_file, 1))
		_exit(1);
	work(&workers[0]);
	for (unsigned long i = 0; i < thread_count; i++)
		free_all(&workers[i]);
	catch_all(NULL);
	_exit(corrupt || !caught ? 1 : CHILD_STATUS);
}

static void bear()
{
	int ends[2];

	if (pipe(ends))
		abort();
	child = child_status = fork();
	if (!child) {
		close(ends[1]);
		live_as_child(ends[0]);
	}
	close(ends[0]);
	child_input = ends[1];
}

static void await_child()
{
	close(child_input);
	if (child < 0 || waitpid(child, &child_status, 0) != child)
		abort();
}

static void obey(char command, char **argv)
{
	char extra[128];

	if (command == 'w')
		all_do(work);
	else if (command == 'f')
		all_do(free_all);
	else if (command == 'x')
		all_do(catch_all);
	if (command == 'k' || command == 's')
		bear();
	if (command == 'k' || command == 'r')
		await_child();
	if (command == 'e')
		execv(argv[0], argv);
	for (int i = 0; command == 'l' && i < LEAKED; i++)
		t_leak(LEAK_SIZE);
	snprintf(extra, sizeof(extra), ",\"corrupt\":%llu,\"caught\":%llu,\"child\":%d",
		 (unsigned long long)corrupt, (unsigned long long)caught, child_status);
	truth_tell(STDOUT_FILENO, extra);
}

int main(int argc, char **argv)
{
	char command;

	thread_count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	if (!thread_count || thread_count > THREADS_MAX)
		return 2;
	start();
	truth_write(STDOUT_FILENO, "READY\n", 6);
	while (read(STDIN_FILENO, &command, 1) == 1 && command != 'q')
		obey(command, argv);
	return 0;
}
