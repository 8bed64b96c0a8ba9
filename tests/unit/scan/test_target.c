/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scans a real child: pointers in all possible places, and the child is not disturbed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/ptrace/freeze.h"
#include "base/vec.h"
#include "os/process/proc.h"
#include "os/ptrace/tracee.h"
#include "scan/read/copy.h"
#include "scan/target.h"

#define SIZE         48
#define CHILD_BLOCKS 4096 /* more than a child has of this size, wherever they are placed */
#define MASK         0x5555555555555555ULL /* keeps pointers out of the board */
#define HUGE         (1ULL << 36)
#define INHERITED    (32UL << 20)
#define DEAD         4096 /* bytes below the stack pointer, where the stale word is */

enum place {
	LOST,
	LOST_BELOW,
	STALE_STACK,
	STALE_HEAP,
	IN_DATA,
	IN_REGISTER,
	IN_TLS,
	IN_THREAD,
	IN_MAPPING,
	IN_READ_ONLY,
	IN_NO_ACCESS,
	IN_FILE,
	IN_SHARED_FILE,
	IN_SHARED_UNMAPPED,
	PLACES,
};

struct board {
	uint64_t addresses[PLACES];
	volatile int ready;
	volatile int error;
};

static void *volatile in_data;
static __thread void *volatile in_tls;

static void *make(struct board *board, enum place place)
{
	void *block = calloc(1, SIZE);

	board->addresses[place] = (uintptr_t)block ^ MASK;
	return block;
}

static void *place_in_thread(void *board)
{
	void *volatile on_stack = make(board, IN_THREAD);

	((struct board *)board)->ready = 1;
	for (;;)
		pause();
	return on_stack;
}

static void **map(int flags, int file)
{
	void **memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, flags, file, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void place_in_mappings(struct board *board)
{
	FILE *file = tmpfile();
	int fd = fileno(file);
	void **mapping = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	void **read_only = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	void **no_access = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	void **shared = map(MAP_SHARED | MAP_ANONYMOUS, -1);
	void **by_file, **by_shared_file;

	board->error = ftruncate(fd, 8192);
	by_file = map(MAP_PRIVATE, fd);
	by_shared_file = map(MAP_SHARED, fd);
	mapping[1] = make(board, IN_MAPPING);
	read_only[1] = make(board, IN_READ_ONLY);
	no_access[1] = make(board, IN_NO_ACCESS);
	by_file[1] = make(board, IN_FILE);
	by_shared_file[2] = make(board, IN_SHARED_FILE);
	shared[1] = make(board, IN_SHARED_UNMAPPED);
	mprotect(read_only, 8192, PROT_READ);
	mprotect(no_access, 8192, PROT_NONE);
	madvise(shared, 8192, MADV_DONTNEED); /* removed from the page tables; the contents stay */
}

static void place_in_heap(struct board *board)
{
	void **freed = calloc(1, SIZE), **lost;
	void *guard = calloc(1, SIZE);

	freed[4] = make(board, STALE_HEAP);
	lost = make(board, LOST);
	lost[2] = make(board, LOST_BELOW);
	in_data = make(board, IN_DATA);
	in_tls = make(board, IN_TLS);
	free(freed);
	free(guard);
}

static __attribute__((noinline)) void place_all(struct board *board)
{
	pthread_t thread;

	place_in_heap(board);
	place_in_mappings(board);
	pthread_create(&thread, NULL, place_in_thread, board);
	while (!board->ready)
		;
	make(board, IN_REGISTER);
	make(board, STALE_STACK);
}

static __attribute__((noinline)) void clear_stack(void)
{
	volatile char bytes[64 * 1024];

	memset((void *)(uintptr_t)bytes, 0, sizeof(bytes));
}

/* Keeps one pointer in a register, one below the stack pointer, and none anywhere else. */
static void spin(struct board *board)
{
#if defined(__x86_64__)
	__asm__ volatile("vzeroall\n"
			 "mov %c[dead](%[board]), %%rax\n"
			 "xor %[mask], %%rax\n"
			 "mov %%rax, -%c[depth](%%rsp)\n"
			 "mov %c[held](%[board]), %%r12\n"
			 "xor %[mask], %%r12\n"
			 "xor %%eax, %%eax\n"
			 "xor %%ebx, %%ebx\n"
			 "movl $2, %c[ready](%[board])\n"
			 "1: pause\n"
			 "jmp 1b\n"
			 :
			 : [board] "D"(board), [mask] "S"(MASK), [depth] "i"(DEAD),
			   [dead] "i"(offsetof(struct board, addresses) + 8 * STALE_STACK),
			   [held] "i"(offsetof(struct board, addresses) + 8 * IN_REGISTER),
			   [ready] "i"(offsetof(struct board, ready))
			 : "rax", "rbx", "r12", "memory");
#else
	in_tls = (void *)(uintptr_t)(board->addresses[IN_REGISTER] ^ MASK);
	board->ready = 2;
	for (;;)
		;
#endif
}

/*
 * The child shares the parent's memory, which may still contain a list of the previous child's
 * blocks. So each child skips the addresses of earlier ones.
 */
static void use_up_earlier(unsigned int children)
{
	for (unsigned int i = 0; i < children * CHILD_BLOCKS; i++) {
		void *volatile block = calloc(1, SIZE);

		(void)block;
	}
}

static void child_run(struct board *board, unsigned int children)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	use_up_earlier(children);
	place_all(board);
	clear_stack();
	spin(board);
}

struct child {
	pid_t pid;
	struct board *board;
};

/* Its second thread executes no more code, for which pages might be missing. */
static bool thread_sleeps(pid_t pid)
{
	struct proc_threads threads;
	bool sleeps = true;
	const pid_t *tid;

	assert_int_equal(proc_threads_read(pid, &threads), 0);
	vec_each (tid, &threads)
		sleeps &= *tid == pid || tracee_call(pid, *tid) >= 0;
	vec_free(&threads);
	return sleeps;
}

static struct child child_start(void)
{
	static unsigned int children;
	struct child child = {.board = mmap(NULL, sizeof(*child.board), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0)};

	child.pid = fork();
	assert_true(child.pid >= 0);
	if (!child.pid)
		child_run(child.board, children);
	children++;
	while (child.board->ready < 2 || !thread_sleeps(child.pid))
		usleep(1000);
	assert_int_equal(child.board->error, 0);
	return child;
}

static void child_end(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	munmap(child->board, sizeof(*child->board));
}

static uint64_t address_of(const struct child *child, enum place place)
{
	return child->board->addresses[place] ^ MASK;
}

static void release(void *ctx)
{
	struct freeze **freeze = ctx;

	assert_non_null(*freeze);
	freeze_release(*freeze);
	*freeze = NULL;
}

/* In place, or from a copy while the child already continues. */
static void scan_frozen(struct child *child, bool heap_is_known, bool copied, struct blocks *blocks,
			struct scan_result *result)
{
	struct target_options options = {.pid = child->pid};
	const struct thread_registers *threads;
	struct scan_input input;
	struct copy *copy = NULL;
	struct scan_target *target;
	struct freeze *freeze;
	size_t count;

	if (copied)
		assert_int_equal(copy_open(&copy, copy_room(child->pid, 50)), 0);
	for (int i = 0; i < PLACES; i++)
		assert_int_equal(blocks_add(blocks, address_of(child, i), SIZE), 0);
	assert_int_equal(freeze_stop(&freeze, child->pid, NULL), 0);
	threads = freeze_threads(freeze, &count);
	assert_int_equal(target_open(&target, &options, threads, count), 0);
	target_describe(target, &input);
	input.heap_is_known = heap_is_known;
	input.read_ahead = true;
	input.copy = copy;
	input.collected = release;
	input.collected_ctx = &freeze;
	assert_int_equal(scan_run(blocks, &input, result), 0);
	assert_null(freeze);
	assert_int_equal(!!result->copied, copied);
	target_close(target);
	copy_close(copy);
}

/*
 * The blocks that we allocated before the fork are unknown in the child's heap, so the memory
 * around them is a root. For STALE_HEAP, both results are valid.
 */
static void check_places(bool copied)
{
	struct child child = child_start();
	struct scan_result result;
	struct blocks blocks = {0};

	scan_frozen(&child, true, copied, &blocks, &result);
	assert_int_equal(result.bytes_unreadable, 0);
	for (int i = 0; i < PLACES; i++) {
		enum leak_class found =
			scan_class_of(&result, blocks_at(&blocks, address_of(&child, i)));
		enum leak_class expected = i == LOST || i == STALE_STACK        ? LEAK_DEFINITE
					   : i == LOST_BELOW                    ? LEAK_INDIRECT
					   : i == IN_REGISTER || i == IN_THREAD ? LEAK_STACK
										: LEAK_REACHABLE;

		if (i == STALE_HEAP)
			continue;
		if (found != expected)
			print_error("place %d: %s\n", i, leak_class_name(found));
		assert_int_equal(found, expected);
	}
	scan_result_free(&result);
	blocks_free(&blocks);
	child_end(&child);
}

static void test_places(void **state)
{
	(void)state;
	check_places(false);
	check_places(true);
}

static uint64_t resident_pages(pid_t pid)
{
	char path[64];
	unsigned long pages = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
	fclose(file);
	return pages;
}

/* Much more memory than the machine has, reserved but untouched, private and shared. */
static void test_scan_does_not_grow_the_process(void **state)
{
	void *private = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *shared = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct child child = child_start();
	uint64_t before = resident_pages(child.pid);
	struct scan_result result;
	struct blocks blocks = {0};

	(void)state;
	assert_true(private != MAP_FAILED && shared != MAP_FAILED);
	scan_frozen(&child, false, true, &blocks, &result);
	assert_int_equal(resident_pages(child.pid), before);
	assert_true(result.bytes_scanned < 64 << 20);
	scan_result_free(&result);
	blocks_free(&blocks);
	child_end(&child);
	munmap(private, HUGE);
	munmap(shared, HUGE);
}

static unsigned long own_kib(pid_t pid)
{
	char path[64], line[128];
	unsigned long kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) && !sscanf(line, "Private_Dirty: %lu", &kib))
		;
	fclose(file);
	return kib;
}

/* Memory that the child inherited and did not write stays shared. */
static void test_scan_does_not_copy_shared_pages(void **state)
{
	void *inherited =
		mmap(NULL, INHERITED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct scan_result result;
	struct blocks blocks = {0};
	struct child child;
	unsigned long before;

	(void)state;
	assert_true(inherited != MAP_FAILED);
	memset(inherited, 1, INHERITED);
	child = child_start();
	before = own_kib(child.pid);
	scan_frozen(&child, false, false, &blocks, &result);
	assert_true(result.bytes_scanned >= INHERITED);
	assert_int_equal(result.bytes_unreadable, 0);
	/* pages that we write become private in the child as well */
	assert_true(own_kib(child.pid) < before + INHERITED / 1024 / 8);
	scan_result_free(&result);
	blocks_free(&blocks);
	child_end(&child);
	munmap(inherited, INHERITED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_scan_does_not_grow_the_process),
		cmocka_unit_test(test_scan_does_not_copy_shared_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
