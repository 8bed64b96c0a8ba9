/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gates at the allocation functions of this process's own C library: what the program sees of its
 * calls stays the same, calls are sampled with the right probability, and the free of each sampled
 * block passes its probe site, but no other does. The probe sites call a function of the test. Each
 * test runs in a child.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>

#include "bpf/abi.h"
#include "gate/template.h"

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)

#define PAGE       4096
#define CODE_SIZE  65536
#define LINE_COUNT 16384
#define DATA_SIZE  (STUB_SET_AT + LINE_COUNT * STUB_SET_LINE)
#define REACH      0x40000000
#define MEAN       4096
#define NO_SAMPLE  0xffff

/* In a child. */
#define CHECK(what)                                              \
	do {                                                     \
		if (!(what)) {                                   \
			dprintf(2, "%d: %s\n", __LINE__, #what); \
			_exit(1);                                \
		}                                                \
	} while (0)

/* What a probe site saw. */
struct probe {
	uint64_t arguments[3];
	uint64_t result;
	uint32_t sample;
};

enum site { SITE_CALL, SITE_BEGIN, SITE_END, SITE_FREE, SITES };

struct function {
	const char *name;
	enum stub_kind kind;
	enum site sites[2];
} functions[] = {
	{"malloc", STUB_SIZE_FIRST, {SITE_CALL}},
	{"calloc", STUB_COUNT_SIZE, {SITE_CALL}},
	{"realloc", STUB_REALLOC, {SITE_BEGIN, SITE_END}},
	{"reallocarray", STUB_REALLOC_COUNT, {SITE_BEGIN, SITE_END}},
	{"memalign", STUB_SIZE_SECOND, {SITE_CALL}},
	{"posix_memalign", STUB_SIZE_THIRD, {SITE_CALL}},
	{"valloc", STUB_SIZE_FIRST, {SITE_CALL}},
	{"free", STUB_FREE, {SITE_FREE}},
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* Of each kind of site: the number of visits, and the last one. `sampled` is the number of blocks
 * that were reported and not freed. */
static struct {
	uint64_t count[SITES];
	struct probe last[SITES];
	int64_t sampled;
} seen;

static uint8_t *code;
static struct stub_data *data;

/* Must not allocate. */
void visited(const struct probe *probe, enum site site);
void visited(const struct probe *probe, enum site site)
{
	bool kept = probe->sample != SAMPLE_NOT && probe->result;

	__atomic_fetch_add(&seen.count[site], 1, __ATOMIC_RELAXED);
	seen.last[site] = *probe;
	if (site == SITE_FREE)
		__atomic_fetch_sub(&seen.sampled, 1, __ATOMIC_RELAXED);
	else if (site != SITE_BEGIN && kept)
		__atomic_fetch_add(&seen.sampled, 1, __ATOMIC_RELAXED);
}

/* What the probe sites call: keeps all registers, as a probe does. r10 is not used there. */
#define VISIT(site)                                                                           \
	__asm__(".text\nvisit_" #site ":\n"                                                   \
		"push %rax\npush %rcx\npush %rdx\npush %rsi\npush %rdi\npush %r8\npush %r9\n" \
		"push %r10\npush %r11\npush %rbp\nmov %rsp, %rbp\n"                           \
		"sub $40, %rsp\nand $-16, %rsp\nmov %rdi, (%rsp)\nmov %rsi, 8(%rsp)\n"        \
		"mov %rdx, 16(%rsp)\nmov %rax, 24(%rsp)\nmov %r11d, 32(%rsp)\n"               \
		"mov %rsp, %rdi\nmov $" #site ", %esi\ncall visited\n"                        \
		"mov %rbp, %rsp\npop %rbp\npop %r11\npop %r10\npop %r9\npop %r8\npop %rdi\n"  \
		"pop %rsi\npop %rdx\npop %rcx\npop %rax\nret\n");                             \
	extern const char visit_##site[];

VISIT(0)
VISIT(1)
VISIT(2)
VISIT(3)

static const char *const visits[SITES] = {visit_0, visit_1, visit_2, visit_3};

static uint8_t *map_near(uint64_t address, size_t size)
{
	for (uint64_t distance = size; distance < REACH; distance += 16 * PAGE) {
		uint8_t *area = mmap((void *)((address - distance) / PAGE * PAGE), size,
				     PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (area != MAP_FAILED)
			return area;
	}
	return NULL;
}

/* An absolute jump; the test's code is far from the C library's. */
static size_t write_far_jump(uint8_t *at, const void *to)
{
	memcpy(at, "\xff\x25\0\0\0\0", 6); /* jmp *(%rip) */
	memcpy(at + 6, &to, sizeof(to));
	return 6 + sizeof(to);
}

/* The last page of the code has a jump to the function for each kind of site. */
static void fill_probe(uint8_t *gate, size_t offset, enum site site)
{
	const uint8_t *jump = code + CODE_SIZE - PAGE + 16 * (size_t)site;
	int32_t distance = (int32_t)(jump - (gate + offset + 5));

	gate[offset] = 0xe8; /* call */
	memcpy(gate + offset + 1, &distance, sizeof(distance));
}

/* The original code of a function: a tracer of all processes puts breakpoints into mapped
 * memory. */
static struct gate_code original_of(const char *name)
{
	static uint8_t bytes[PAGE];
	struct gate_code function = {.bytes = bytes};
	void *start = dlsym(RTLD_DEFAULT, name);
	const ElfW(Sym) * symbol;
	Dl_info info;
	int fd;

	CHECK(dladdr1(start, &info, (void **)&symbol, RTLD_DL_SYMENT));
	CHECK(symbol->st_size <= sizeof(bytes));
	function.size = symbol->st_size;
	function.address = (uintptr_t)start;
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	/* In the C library, addresses are offsets in the file. */
	CHECK(pread(fd, bytes, function.size, (const char *)start - (char *)info.dli_fbase) ==
	      (ssize_t)function.size);
	close(fd);
	return function;
}

static void place_gate(const struct function *function, uint8_t *gate)
{
	const struct arch_gate *arch = arch_gate(EM_X86_64, false);
	struct gate_layout layout = gate_layout_of(function->kind);
	struct gate_code original = original_of(function->name);
	struct gate_order order = {.kind = function->kind};
	uint8_t jump[GATE_JUMP_MAX], *start;
	struct gate_site site;

	CHECK(arch->find(&original, &site) == GATE_POSSIBLE);
	order.displaced = (struct gate_code){original.bytes + (site.address - original.address),
					     site.size, site.address};
	order.address = (uintptr_t)gate;
	order.image = (uintptr_t)code;
	order.data = (uintptr_t)data;
	CHECK(gate_make(arch, &order, gate) == GATE_POSSIBLE);
	for (int i = 0; i < 2 && layout.probes[i]; i++)
		fill_probe(gate, layout.probes[i], function->sites[i]);
	CHECK(arch->jump(site.address, (uintptr_t)gate, jump));
	start = (uint8_t *)site.address;
	CHECK(!mprotect((void *)((uintptr_t)start / PAGE * PAGE), 2 * PAGE,
			PROT_READ | PROT_WRITE | PROT_EXEC));
	memcpy(start, jump, arch->jump_size);
}

static void add_range(const void *start, size_t size)
{
	data->ranges[data->range_count++] =
		(struct stub_range){(uintptr_t)start, (uintptr_t)start + size};
}

static void place_all(uint64_t mean)
{
	size_t image_size;
	const uint8_t *image = gate_image(&image_size);
	uint8_t *gate;

	code = map_near((uintptr_t)dlsym(RTLD_DEFAULT, "malloc"), CODE_SIZE + DATA_SIZE);
	CHECK(code);
	data = (struct stub_data *)(code + CODE_SIZE);
	memcpy(code, image, image_size);
	for (int site = 0; site < SITES; site++)
		write_far_jump(code + CODE_SIZE - PAGE + 16 * site, visits[site]);
	data->mean = mean;
	data->seed = (uintptr_t)code ^ (uint64_t)getpid();
	data->line_count = LINE_COUNT;
	add_range(code, CODE_SIZE);
	CHECK(!mprotect(code, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC));
	gate = code + (image_size + 63) / 64 * 64;
	for (size_t i = 0; i < FUNCTIONS; i++) {
		place_gate(&functions[i], gate);
		gate += (gate_layout_of(functions[i].kind).size + 63) / 64 * 64;
		add_range(dlsym(RTLD_DEFAULT, functions[i].name), 400);
	}
	CHECK(!mprotect(code, CODE_SIZE, PROT_READ | PROT_EXEC));
}

static void sample_all(void)
{
	data->sample = 1;
}

/* A mean of 1 byte: nearly every call is sampled. */
static void sample_each(void)
{
	place_all(1);
	sample_all();
}

static void in_child(void (*test)(void))
{
	pid_t child = fork();
	int status;

	if (!child) {
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The blocks in the set, which the filter counts, too. */
static uint64_t blocks_in_set(void)
{
	const struct stub_line *lines = (const void *)((char *)data + STUB_SET_AT);
	uint64_t counted = 0, blocks = 0;

	for (size_t i = 0; i < 1 << STUB_FILTER_BITS; i++)
		counted += ((uint8_t *)data + STUB_FILTER_AT)[i];
	for (size_t i = 0; i < data->line_count; i++)
		for (size_t j = 0; j < STUB_LINE_BLOCKS; j++)
			blocks += lines[i].blocks[j] != 0;
	CHECK(counted == blocks);
	return blocks;
}

/* The calls of one size, and how many of them are expected to be sampled. */
static void check_chance(size_t size, uint64_t calls, uint64_t sampled, double mean)
{
	double chance = 1 - exp(-(double)(size ? size : 1) / mean);
	double expected = (double)calls * chance, deviation = sqrt(expected * (1 - chance)) + 1;

	if (fabs((double)sampled - expected) > 7 * deviation) {
		dprintf(2, "%zu bytes: %lu of %lu sampled, expected %.0f\n", size,
			(unsigned long)sampled, (unsigned long)calls, expected);
		_exit(1);
	}
}

static void chances(void)
{
	static const size_t sizes[] = {0, 1, 16, 100, 1000, 4096, 20000, 100000};
	enum { CALLS = 300000 };

	place_all(MEAN);
	sample_all();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t before = seen.count[SITE_CALL], frees = seen.count[SITE_FREE];

		for (int call = 0; call < CALLS; call++)
			free(malloc(sizes[i]));
		check_chance(sizes[i], CALLS, seen.count[SITE_CALL] - before, MEAN);
		CHECK(seen.count[SITE_FREE] - frees == seen.count[SITE_CALL] - before);
	}
	CHECK(!seen.sampled && !data->missed);
}

/* Sizes mixed within one budget, and a mean that changes. */
static void mixed_chances(void)
{
	enum { CALLS = 3000000, KINDS = 4 };
	static const size_t sizes[KINDS] = {24, 200, 3000, 0};
	uint64_t sampled[2][KINDS] = {0}, calls[2][KINDS] = {0}, before;

	place_all(MEAN);
	for (uint32_t call = 0; call < CALLS; call++) {
		uint32_t kind = call * 2654435761u >> 30, level;

		data->sample = 1 + (call / 1000 & 1);
		before = seen.count[SITE_CALL];
		/* What is left of a budget keeps its mean; here all budgets are used up soon. */
		level = ((struct stub_slot *)((char *)data + STUB_SLOTS_AT) +
			 ((uint32_t)(uintptr_t)pthread_self() * STUB_HASH >> 20))
				->sample;
		level = level ? level - 1 : data->sample - 1;
		free(malloc(sizes[kind]));
		calls[level][kind]++;
		if (seen.count[SITE_CALL] > before) {
			sampled[level][kind]++;
			CHECK(seen.last[SITE_CALL].sample == level + 1);
		}
	}
	for (int level = 0; level < 2; level++)
		for (int kind = 0; kind < KINDS; kind++)
			check_chance(sizes[kind], calls[level][kind], sampled[level][kind],
				     MEAN << level);
}

/* What a realloc allocates counts once, however the C library does it. */
static void realloc_chances(void)
{
	enum { CALLS = 300000, SIZE = 1000 };
	uint64_t ends = 0, begins;

	place_all(MEAN);
	sample_all();
	for (int call = 0; call < CALLS; call++) {
		begins = seen.count[SITE_BEGIN];
		free(realloc(NULL, SIZE));
		ends += seen.count[SITE_BEGIN] > begins;
	}
	check_chance(SIZE, CALLS, ends, MEAN);
	CHECK(!seen.count[SITE_CALL] && !blocks_in_set());
	ends = 0;
	for (int call = 0; call < CALLS; call++) {
		void *block = malloc(1);

		seen.last[SITE_END].sample = SAMPLE_NOT;
		block = reallocarray(block, 10, SIZE / 10);
		ends += seen.last[SITE_END].sample != SAMPLE_NOT;
		free(block);
	}
	check_chance(SIZE, CALLS, ends, MEAN);
	CHECK(!blocks_in_set());
}

static void registers_at_sites(void)
{
	struct probe *call = &seen.last[SITE_CALL], *end = &seen.last[SITE_END];
	void *block, *other;

	sample_each();
	for (int i = 0; i < 50; i++)
		free(malloc(100));
	block = malloc(1234);
	CHECK(call->arguments[0] == 1234 && call->result == (uintptr_t)block && call->sample == 1);
	free(block);
	CHECK(seen.last[SITE_FREE].arguments[0] == (uintptr_t)block);
	block = calloc(7, 99);
	CHECK(call->arguments[0] == 7 && call->arguments[1] == 99 &&
	      call->result == (uintptr_t)block);
	for (int i = 0; i < 7 * 99; i++)
		CHECK(!((char *)block)[i]);
	other = realloc(block, 100000);
	CHECK(seen.last[SITE_BEGIN].arguments[0] == (uintptr_t)block &&
	      seen.last[SITE_BEGIN].arguments[1] == 100000);
	CHECK(end->result == (uintptr_t)other && end->sample == 1);
	free(other);
	block = memalign(64, 555);
	CHECK(call->arguments[0] == 64 && call->arguments[1] == 555 &&
	      call->result == (uintptr_t)block && (uintptr_t)block % 64 == 0);
	free(block);
	CHECK(posix_memalign(&block, 128, 777) == 0 && (uintptr_t)block % 128 == 0);
	CHECK(call->arguments[0] == (uintptr_t)&block && call->arguments[2] == 777 &&
	      !(uint32_t)call->result);
	free(block);
}

static void failures(void)
{
	void *block, *unchanged = &block;
	volatile size_t huge = SIZE_MAX / 4;
	uint64_t before;

	sample_each();
	block = malloc(100);
	before = seen.count[SITE_FREE];
	errno = 0;
	CHECK(!malloc(huge) && errno == ENOMEM && !seen.last[SITE_CALL].result);
	CHECK(!calloc(huge, 16) && !reallocarray(block, huge, 16));
	CHECK(!realloc(block, huge) && !seen.last[SITE_END].result);
	CHECK(posix_memalign(&unchanged, 64, huge) == ENOMEM && unchanged == &block);
	CHECK(posix_memalign(&unchanged, 3, 8) == EINVAL);
	free(NULL);
	CHECK(seen.count[SITE_FREE] == before);
	free(block); /* a failed realloc has not released it */
	CHECK(seen.count[SITE_FREE] == before + 1);
	block = malloc(100);
	CHECK(!realloc(block, 0)); /* releases it */
	CHECK(seen.last[SITE_BEGIN].arguments[0] == (uintptr_t)block);
	CHECK(!blocks_in_set());
}

/* Without a tracer, and in a child of fork, a gate does nothing. */
static void passes(void)
{
	void *block;
	uint64_t before;

	place_all(1);
	free(malloc(100));
	CHECK(!seen.count[SITE_CALL]);
	sample_all();
	block = malloc(100);
	before = seen.count[SITE_CALL];
	CHECK(before && before == 1);
	memset(data, 0, DATA_SIZE); /* as MADV_WIPEONFORK does */
	block = realloc(block, 200);
	free(block);
	free(realloc(malloc(1), 2));
	free(calloc(3, 4));
	CHECK(seen.count[SITE_CALL] == before && !seen.count[SITE_FREE] && !seen.count[SITE_BEGIN]);
}

/* A set that is full misses blocks, and counts them. */
static void full_set(void)
{
	enum { BLOCKS = 100000 };
	static void *blocks[BLOCKS];

	place_all(1);
	data->line_count = 1024;
	sample_all();
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(100);
	CHECK(seen.sampled <= 1024 * STUB_LINE_BLOCKS &&
	      seen.sampled > 1024 * STUB_LINE_BLOCKS / 2);
	CHECK(data->missed + (uint64_t)seen.sampled == BLOCKS);
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	CHECK(!seen.sampled);
}

#define THREADS 4
#define SHARED  4096
static void *shared[SHARED];

/* Blocks go from thread to thread, and are often released by another one. */
static void *exchange(void *argument)
{
	uint32_t random = (uint32_t)(uintptr_t)argument;

	for (int i = 0; i < 400000; i++) {
		void *block = NULL;

		random = random * 1664525 + 1013904223;
		if (random >> 31)
			block = random >> 30 & 1 ? malloc(random >> 20 & 511)
						 : calloc(2, random >> 20 & 511);
		block = __atomic_exchange_n(&shared[random >> 8 & (SHARED - 1)], block,
					    __ATOMIC_ACQ_REL);
		if (block && random >> 29 & 1)
			block = realloc(block, (random >> 12 & 1023) + 1);
		free(block);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t all[THREADS];

	place_all(64);
	sample_all();
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&all[i], NULL, exchange, (void *)(i + 1)));
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	for (int i = 0; i < SHARED; i++)
		free(shared[i]);
	CHECK(seen.count[SITE_CALL] > 10000 && seen.count[SITE_END] > 10000 && !data->missed);
	data->sample = 0;
	CHECK(blocks_in_set() < 100); /* the C library keeps some for its threads */
}

#define TEST(name)                            \
	static void test_##name(void **state) \
	{                                     \
		(void)state;                  \
		in_child(name);               \
	}

TEST(chances)
TEST(mixed_chances)
TEST(realloc_chances)
TEST(registers_at_sites)
TEST(failures)
TEST(passes)
TEST(full_set)
TEST(threads)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chances),         cmocka_unit_test(test_mixed_chances),
		cmocka_unit_test(test_realloc_chances), cmocka_unit_test(test_registers_at_sites),
		cmocka_unit_test(test_failures),        cmocka_unit_test(test_passes),
		cmocka_unit_test(test_full_set),        cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0; /* no gates here */
}

#endif
