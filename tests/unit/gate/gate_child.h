/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests that place gates in children of theirs: functions that can have gates, children whose
 * threads call them and check the results, and gates that count the calls.
 */
#ifndef MTRACE_TESTS_GATE_CHILD_H
#define MTRACE_TESTS_GATE_CHILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
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

#include "gate/place/area.h"
#include "gate/place/place.h"
#include "os/process/maps.h"
#include "os/process/proc.h"
#include "tests/unit/sweep.h"
#include "tests/unit/child.h"

#define FUNCTIONS    4
#define THREADS_MAX  100
#define MAGIC        0x6d74726163652121ULL
#define CODE_SIZE    GATE_PAGE
#define DATA_SIZE    (2 * GATE_PAGE)
#define PARKING_SIZE (2 * FUNCTIONS * GATE_PAGE)
#define CODE_OFFSET  (64U << 20) /* behind the end of the test's file */
#define CHILDREN_MAX 16

/* Shared memory of parent and children. */
struct gate_board {
	volatile bool go;
	volatile uint64_t counts[THREADS_MAX];
	volatile uint64_t errors;
	volatile uint64_t data; /* the address of the gates' data */
	volatile uint64_t seen; /* words that a forked child did not find wiped */
	volatile bool in_handler;
	volatile int threads;
	volatile bool naps; /* the threads sleep between calls */
};

static struct gate_board *board;

/* What the data begins with. */
struct gate_counters {
	uint64_t magic;
	uint64_t hold; /* calls of the first function wait in the gate while this is not 0 */
	uint64_t counts[FUNCTIONS];
};

/* The functions: moves and pushes, an operand relative to the instruction pointer, a branch, and
 * one whose second instruction reads memory. */
extern int plain_function(int value), relative_function(int value), branch_function(int value);
extern int reading_function(const volatile int *value);

__asm__(".pushsection .text\n"
	".globl plain_function, relative_function, branch_function, reading_function\n"
	".balign 64\n"
	"plain_function:\n push %rbx\n mov %edi, %ebx\n lea 1(%rbx,%rbx), %eax\n pop %rbx\n ret\n"
	".balign 64\n"
	"relative_function:\n mov 7f(%rip), %eax\n add %edi, %eax\n ret\n"
	"7: .long 4711\n"
	".balign 64\n"
	"branch_function:\n test %edi, %edi\n je 8f\n lea 5(%rdi), %eax\n ret\n"
	"8: mov $17, %eax\n ret\n"
	".balign 64\n"
	"reading_function:\n nop\n mov (%rdi), %eax\n add $3, %eax\n ret\n"
	".popsection\n");

static const struct gate_function {
	const void *entry;
	uint8_t displaced;
} functions[FUNCTIONS] = {
	{(const void *)plain_function, 7},
	{(const void *)relative_function, 6},
	{(const void *)branch_function, 7},
	{(const void *)reading_function, 6},
};

static inline size_t rounds_of(size_t count)
{
	return count / sweep_step(10);
}

/* Children. */

static inline void nap_us(long us)
{
	const struct timespec time = {.tv_nsec = us * 1000};

	nanosleep(&time, NULL);
}

static inline void fresh_board(void)
{
	if (board)
		munmap(board, sizeof(*board));
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	assert_ptr_not_equal(board, MAP_FAILED);
}

static inline void end(pid_t pid)
{
	child_kill(pid);
	assert_int_equal(board->errors, 0);
}

static inline bool results_are_right(int value)
{
	return plain_function(value) == 2 * value + 1 && relative_function(value) == value + 4711 &&
	       branch_function(value) == (value ? value + 5 : 17) &&
	       reading_function(&value) == value + 3;
}

static inline void *call_functions(void *argument)
{
	volatile uint64_t *count = argument;

	for (;;) {
		if (!results_are_right((int)(*count % 3)))
			board->errors++;
		(*count)++;
		if (board->naps)
			nap_us(500);
	}
	return NULL;
}

static inline void start_threads(void)
{
	pthread_t thread;

	for (int i = 1; i < board->threads; i++)
		if (pthread_create(&thread, NULL, call_functions, (void *)&board->counts[i]))
			board->errors++;
}

static inline void call_in_threads(void)
{
	start_threads();
	call_functions((void *)&board->counts[0]);
}

/* Waits until each thread has called all functions at least once more. */
static inline void await_calls(void)
{
	for (int i = 0; i < board->threads; i++) {
		uint64_t before = board->counts[i];

		while (board->counts[i] < before + 2) {
			assert_int_equal(board->errors, 0);
			sched_yield();
		}
	}
}

static inline pid_t start_threaded(int threads, bool naps)
{
	pid_t pid;

	fresh_board();
	board->threads = threads;
	board->naps = naps;
	pid = child_start(call_in_threads);
	await_calls();
	return pid;
}

static inline pid_t start_calling(int threads)
{
	return start_threaded(threads, false);
}

/* Gates. */

struct gate_fixture {
	struct gate_image image;
	struct gate_patch patches[FUNCTIONS];
	uint8_t code[CODE_SIZE];
	struct gate_counters counters;
};

/* Encodes an instruction that ends with the distance to an address, and `tail` bytes more. */
static inline uint8_t *put_relative(uint8_t *at, uint64_t address, const char *opcode, size_t size,
				    uint64_t target, size_t tail)
{
	int32_t distance;

	memcpy(at, opcode, size);
	distance = (int32_t)(target - (address + size + sizeof(distance) + tail));
	memcpy(at + size, &distance, sizeof(distance));
	return at + size + sizeof(distance);
}

/* A gate: lock incq count; 1: cmpq $0, hold; jne 1b (only the first one); what it displaces. */
static inline uint8_t *put_gate(struct gate_fixture *fixture, size_t i, uint8_t *at)
{
	const struct arch_gate *gate = arch_gate(EM_X86_64, false);
	const uint64_t address = fixture->image.address, data = address + CODE_SIZE;
	struct gate_patch *patch = &fixture->patches[i];
	const struct gate_code displaced = {patch->original, patch->displaced, patch->address};
	size_t size;

#define HERE (address + (uint64_t)(at - fixture->code))
	assert_true(gate->jump(patch->address, HERE, patch->jump));
	at = put_relative(at, HERE, "\xf0\x48\xff\x05", 4,
			  data + offsetof(struct gate_counters, counts) + 8 * i, 0);
	if (!i) {
		at = put_relative(at, HERE, "\x48\x83\x3d", 3,
				  data + offsetof(struct gate_counters, hold), 1);
		memcpy(at, "\0\x75\xf6", 3);
		at += 3;
	}
	assert_int_equal(gate->copy(&displaced, HERE, at, &size), GATE_POSSIBLE);
#undef HERE
	return at + size;
}

static inline void prepare(struct gate_fixture *fixture, uint64_t address)
{
	uint8_t *at = fixture->code;

	memset(fixture, 0, sizeof(*fixture));
	memset(fixture->code, 0xcc, sizeof(fixture->code));
	fixture->counters.magic = MAGIC;
	fixture->image = (struct gate_image){.address = address,
					     .code = fixture->code,
					     .code_size = CODE_SIZE,
					     .data = (const uint8_t *)&fixture->counters,
					     .data_filled = sizeof(fixture->counters),
					     .data_size = DATA_SIZE,
					     .code_offset = CODE_OFFSET,
					     .parking_size = PARKING_SIZE};
	for (size_t i = 0; i < FUNCTIONS; i++) {
		struct gate_patch *patch = &fixture->patches[i];

		patch->address = (uint64_t)(uintptr_t)functions[i].entry;
		patch->displaced = functions[i].displaced;
		patch->jump_size = (uint8_t)arch_gate(EM_X86_64, false)->jump_size;
		memcpy(patch->original, functions[i].entry, patch->displaced);
		at = put_gate(fixture, i, at);
	}
}

/* A different address each time: a copy of the last one may be on the stack of a new child, where
 * it looks like a return address. */
static inline uint64_t area_for(pid_t pid)
{
	static uint64_t size;
	uint64_t address = 0;

	size += CODE_SIZE + DATA_SIZE + PARKING_SIZE;
	assert_int_equal(gate_area_find(pid, (uint64_t)(uintptr_t)plain_function,
					(uint64_t)(uintptr_t)reading_function + 64, size, &address),
			 0);
	return address;
}

static inline int place(pid_t pid, const struct gate_fixture *fixture, struct gate_stop *ret_stop)
{
	struct error err = {0};
	int code = gate_place(pid, &fixture->image, fixture->patches, FUNCTIONS, ret_stop, &err);

	if (code) {
		print_message("%s\n", err.text);
		assert_int_equal(err.code, code);
		assert_null(strchr(err.text, '\n'));
		assert_true(strlen(err.text) > 0);
	}
	return code;
}

static inline int take_away(pid_t pid, const struct gate_fixture *fixture, bool *ret_left,
			    struct gate_stop *ret_stop)
{
	struct error err = {0};
	int code = gate_remove(pid, &fixture->image, ret_left, ret_stop, &err);

	if (code)
		print_message("%s\n", err.text);
	return code;
}

/* What is in the child. */

static inline size_t count_files(pid_t pid)
{
	char path[64];
	size_t count = 0;
	DIR *files;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	files = opendir(path);
	assert_non_null(files);
	while (readdir(files))
		count++;
	closedir(files);
	return count;
}

static inline bool is_mapped(pid_t pid, uint64_t address, uint64_t size)
{
	struct proc_maps maps;
	bool mapped = false;

	assert_int_equal(proc_maps_read(pid, &maps), 0);
	for (size_t i = 0; i < maps.count; i++) {
		mapped |= maps.items[i].start < address + size && maps.items[i].end > address;
		mapped |= strstr(maps.items[i].path, "mtrace-gate") != NULL;
		assert_false(maps.items[i].writable && maps.items[i].executable);
	}
	proc_maps_free(&maps);
	return mapped;
}

static inline bool has_bytes(pid_t pid, uint64_t address, const void *bytes, size_t size)
{
	uint8_t found[GATE_DISPLACED_MAX];

	assert_int_equal(proc_memory_read(pid, address, found, size), size);
	return !memcmp(found, bytes, size);
}

static inline void expect_nothing(pid_t pid, const struct gate_fixture *fixture)
{
	assert_false(is_mapped(pid, fixture->image.address, CODE_SIZE + DATA_SIZE));
	for (size_t i = 0; i < FUNCTIONS; i++)
		assert_true(has_bytes(pid, fixture->patches[i].address,
				      fixture->patches[i].original, fixture->patches[i].displaced));
}

static inline struct gate_counters counters_of(pid_t pid, const struct gate_fixture *fixture)
{
	struct gate_counters counters;

	assert_int_equal(proc_memory_read(pid, fixture->image.address + CODE_SIZE, &counters,
					  sizeof(counters)),
			 sizeof(counters));
	return counters;
}

/* Also writes to code that the child cannot write to. */
static inline void poke(pid_t pid, uint64_t address, const void *bytes, size_t size)
{
	char path[64];
	int memory;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	memory = open(path, O_RDWR | O_CLOEXEC);
	assert_true(memory >= 0);
	assert_int_equal(pwrite(memory, bytes, size, (off_t)address), size);
	close(memory);
}

/* A child with a thread in a signal handler that has interrupted a function in displaced bytes. */

static void *hidden_page;

/* A handler that returns when the page can be read. */
static inline void handle_fault(int signal_number)
{
	(void)signal_number;
	board->in_handler = true;
	while (!board->go)
		nap_us(100);
	mprotect(hidden_page, GATE_PAGE, PROT_READ);
	board->in_handler = false;
}

static inline void read_hidden_page(void)
{
	struct sigaction action = {.sa_handler = handle_fault};

	sigaction(SIGSEGV, &action, NULL);
	hidden_page = mmap(NULL, GATE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (reading_function(hidden_page) != 3)
		board->errors++;
	call_functions((void *)&board->counts[0]);
}

static inline pid_t start_in_handler(void)
{
	pid_t pid;

	fresh_board();
	board->threads = 1;
	pid = child_start(read_hidden_page);
	while (!board->in_handler)
		sched_yield();
	return pid;
}

/* Our children. The helpers are among them. */

static inline size_t list_children(pid_t pid, pid_t children[CHILDREN_MAX])
{
	char path[64], text[256], *at = text, *next;
	size_t count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	while (count < CHILDREN_MAX &&
	       (children[count] = (pid_t)strtol(at, &next, 10), next != at)) {
		count++;
		at = next;
	}
	return count;
}

/* After a failure. */
static inline int kill_children(void **state)
{
	pid_t children[CHILDREN_MAX];
	size_t count = list_children(getpid(), children);

	(void)state;
	while (count--) {
		kill(children[count], SIGKILL);
		waitpid(children[count], NULL, 0);
	}
	return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, kill_children)

#endif
