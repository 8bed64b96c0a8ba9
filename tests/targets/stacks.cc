/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks KIND… (see the table at the end): calls an allocation function from many kinds of stacks,
 * and prints each stack as found by backtrace(), that is, by the C++ runtime's unwinder. One line
 * for each:
 *
 *	BYTES MODULE+OFFSET MODULE+OFFSET …
 *
 * These are the return addresses beyond the allocating function, as offsets in the file. Compiled
 * as distributions do, optimised and without frame pointers (see the Makefile).
 */
#include <alloca.h>
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

static const int FRAMES_MAX = 127;

struct place {
	uintptr_t address;
	const char *module; /* its name; `length` excludes the version */
	uintptr_t offset;
	int length;
};

static int find_place(struct dl_phdr_info *info, size_t, void *data)
{
	struct place *place = static_cast<struct place *>(data);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t distance = place->address - info->dlpi_addr - header->p_vaddr;

		if (header->p_type != PT_LOAD || distance >= header->p_filesz)
			continue;
		place->module = strrchr(info->dlpi_name, '/');
		place->module = place->module ? place->module + 1 : "stacks";
		place->length = strcspn(place->module, ".");
		place->offset = distance + header->p_offset;
		return 1;
	}
	return 0;
}

/* Printed at the end, because stdio must not be among the stacks. */
struct taken {
	size_t size;
	int count;
	void *frames[FRAMES_MAX];
};

static const int TAKEN_MAX = 20000;
static struct taken taken[TAKEN_MAX];
static std::atomic<int> taken_count;

/* Hides from the compiler what happens to the memory. */
static inline void keep(void *memory)
{
	asm volatile("" : : "r"(memory) : "memory");
}

/* The only function that allocates. Sizes distinguish the stacks. */
NOINLINE static void take(void)
{
	int number = taken_count++;
	struct taken *one = &taken[number];

	if (number >= TAKEN_MAX)
		abort();
	one->size = 1000 + number;
	one->count = backtrace(one->frames, FRAMES_MAX);
	void *block = malloc(one->size);

	keep(block);
	free(block);
}

static void tell(void)
{
	for (int i = 0; i < taken_count; i++) {
		printf("%zu", taken[i].size);
		for (int j = 1; j < taken[i].count; j++) {
			struct place place = {(uintptr_t)taken[i].frames[j], "?", 0, 1};

			dl_iterate_phdr(find_place, &place);
			printf(" %.*s+%#zx", place.length, place.module, place.offset);
		}
		printf("\n");
	}
}

/*
 * A tree of calls through functions whose frames differ: small, large, of a size that is only known
 * at run time, over-aligned, with and without saved registers.
 */

static thread_local uint64_t random_state = 1;

static unsigned int choose(unsigned int limit)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(random_state >> 33) % limit;
}

static void descend(int depth);

NOINLINE static void plain(int depth)
{
	descend(depth);
	asm volatile("");
}

NOINLINE static void large(int depth)
{
	char room[3000];

	keep(room);
	descend(depth);
	keep(room);
}

NOINLINE static void variable(int depth)
{
	char *room = (char *)alloca(16 + choose(700));

	keep(room);
	descend(depth);
	keep(room);
}

NOINLINE static void aligned(int depth)
{
	alignas(64) char room[128];

	keep(room);
	descend(depth);
	keep(room);
}

NOINLINE static uint64_t registers(int depth)
{
	uint64_t a = choose(9), b = choose(9), c = choose(9), d = choose(9), e = choose(9);

	descend(depth);
	return a + 3 * b + 5 * c + 7 * d + 11 * e + choose(3);
}

NOINLINE static int compare(const void *, const void *)
{
	take();
	return 0;
}

NOINLINE static void sorting(int)
{
	int numbers[] = {3, 1, 2};

	qsort(numbers, 3, sizeof(numbers[0]), compare);
}

NOINLINE static void sorting_cxx(int depth)
{
	std::vector<int> numbers(20, depth);

	std::sort(numbers.begin(), numbers.end(), [](int a, int b) {
		take();
		return a < b;
	});
}

struct Cleanup {
	~Cleanup()
	{
		take();
	}
};

NOINLINE static void throwing(int depth)
{
	Cleanup cleanup;

	if (depth > 5)
		throw depth;
	descend(depth);
}

NOINLINE static void catching(int depth)
{
	try {
		throwing(depth);
	} catch (int) {
		take();
	}
}

NOINLINE static void calling(int depth)
{
	std::function<void(int)> call = [](int d) {
		descend(d);
		asm volatile("");
	};

	call(depth);
	asm volatile("");
}

static void descend(int depth)
{
	static void (*const ways[])(int) = {
		plain, large, variable, aligned, sorting, sorting_cxx, catching, calling,
	};
	unsigned int way = choose(12);

	if (depth <= 0)
		take();
	else if (way < sizeof(ways) / sizeof(ways[0]))
		ways[way](depth - 1);
	else
		registers(depth - 1);
	asm volatile("");
}

static void tree(void)
{
	for (int i = 0; i < 150; i++)
		descend((int)choose(40));
}

static void tree_of_thread(int seed)
{
	random_state = seed;
	tree();
}

static void threads(void)
{
	std::vector<std::thread> all;

	for (int i = 1; i <= 4; i++)
		all.emplace_back(tree_of_thread, 7 * i);
	for (std::thread &thread : all)
		thread.join();
}

/* A coroutine on its own stack, and a handler on an alternate one. */

static ucontext_t context_main, context_own;

static void coroutine(void)
{
	descend(9);
	swapcontext(&context_own, &context_main);
}

static void coroutines(void)
{
	static char stack[1 << 16];

	getcontext(&context_own);
	context_own.uc_stack.ss_sp = stack;
	context_own.uc_stack.ss_size = sizeof(stack);
	makecontext(&context_own, coroutine, 0);
	swapcontext(&context_main, &context_own);
}

static void on_signal(int)
{
	take();
}

static void signals(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
}

/* Stacks through the standard library: not compared, but they must be complete. */
static void regex(void)
{
	std::regex expression("([a-z]+)-([0-9]+|x(yz)*)+(foo|bar)?");
	std::smatch match;
	std::string text = "abc-123xyzyzfoo";

	for (int i = 0; i < 20; i++)
		std::regex_search(text, match, expression);
}

/* Waits for a tracer to attach. */
static void wait(void)
{
	getchar();
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{"wait", wait},       {"tree", tree},   {"threads", threads}, {"coroutines", coroutines},
	{"signals", signals}, {"regex", regex},
};

int main(int count, char **names)
{
	void *first[1];

	backtrace(first, 1); /* loads the unwinder */
	for (int i = 1; i < count; i++)
		for (const auto &kind : kinds)
			if (!strcmp(kind.name, names[i]))
				kind.run();
	tell();
	return 0;
}
