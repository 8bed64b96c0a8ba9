/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared code of the programs of the leak scan's truth table.
 *
 *	CASE(lost_chain, .definite = {1, 48}, .indirect = {2, 96})
 *	{
 *		…
 *	}
 *
 * is one case. It defines the function case_lost_chain, so that the stacks of its allocations name
 * the case, and what a leak scan must find among these blocks: {blocks, bytes} by class. The
 * program runs all cases, prints the truth as one line of JSON for each, and then
 * - under valgrind or LeakSanitizer requests a leak check, which they report in their own format,
 *   and exits;
 * - otherwise prints READY, waits for the end of its input, and exits.
 *
 * How the truth is kept exact. A pointer that a case has dropped must not survive by accident. So
 * each case runs deep in the stack, and then the dead stack and all registers that calls may change
 * are overwritten. Pointers that must be known but must not hold a block are hidden (HIDE). Sizes
 * are chosen so that no block extends past the last whole 16 bytes of its chunk; otherwise
 * main_arena's pointer to the next chunk would point into the block (scan/pattern/gap.c). Threads
 * are created beforehand, because creating one allocates.
 */
#ifndef MTRACE_TESTS_LEAK_TRUTH_H
#define MTRACE_TESTS_LEAK_TRUTH_H

#include "truth.h"

#if __has_include(<valgrind/memcheck.h>) && !defined(__SANITIZE_LEAK__)
#include <valgrind/memcheck.h>
#else
#define RUNNING_ON_VALGRIND    0
#define VALGRIND_DO_LEAK_CHECK (void)0
#endif

#define ANY           (-1)
#define SIZE          48
#define WORDS         (SIZE / sizeof(void *))
#define HIDE(pointer) ((uintptr_t)(pointer) ^ (uintptr_t)0x5555555555555555ULL)
#define SHOW(hidden)  ((void *)HIDE(hidden))

#ifdef __cplusplus
extern "C" {
#endif
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
/* The number of the running case; -1: none. Read by tests/scan/recorder.c. */
extern volatile int leak_case_now;
#ifdef __cplusplus
}
#endif

volatile int leak_case_now = -1;

/* A word of .bss that holds a block. */
#define ROOT(name) static void **volatile name __attribute__((unused))

struct tally {
	long blocks, bytes; /* ANY: depends on libc */
};

struct leak_case {
	const char *name;
	void (*run)(void);
	struct tally definite, indirect, possible, reachable, unknown;
};

extern const struct leak_case *const __start_leak_cases[], *const __stop_leak_cases[];

#define CASE(word, ...)                                                                          \
	NOINLINE static void case_##word(void);                                                  \
	static const struct leak_case leak_case_##word = {                                       \
		.name = #word, .run = case_##word, __VA_ARGS__};                                 \
	__attribute__((                                                                          \
		used, no_reorder,                                                                \
		section("leak_cases"))) static const struct leak_case *const leak_entry_##word = \
		&leak_case_##word;                                                               \
	NOINLINE static void case_##word(void)

NOINLINE static void *checked(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* A zeroed block of that size. */
NOINLINE static void **block(size_t size)
{
	return (void **)checked(calloc(1, truth_opaque(size)));
}

NOINLINE static void leak_scrub_registers(void)
{
#if defined(__x86_64__)
	__asm__ volatile("xor %%eax, %%eax\n xor %%ecx, %%ecx\n xor %%edx, %%edx\n"
			 "xor %%esi, %%esi\n xor %%edi, %%edi\n xor %%r8d, %%r8d\n"
			 "xor %%r9d, %%r9d\n xor %%r10d, %%r10d\n xor %%r11d, %%r11d\n"
			 "pxor %%xmm0, %%xmm0\n pxor %%xmm1, %%xmm1\n pxor %%xmm2, %%xmm2\n"
			 "pxor %%xmm3, %%xmm3\n pxor %%xmm4, %%xmm4\n pxor %%xmm5, %%xmm5\n"
			 "pxor %%xmm6, %%xmm6\n pxor %%xmm7, %%xmm7\n" ::
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
				   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
	if (__builtin_cpu_supports("avx") && !RUNNING_ON_VALGRIND)
		__asm__ volatile("vzeroall" ::: "memory");
#endif
}

NOINLINE static void leak_scrub(void)
{
	volatile char bytes[128 * 1024];

	memset((void *)(uintptr_t)bytes, 0, sizeof(bytes));
	leak_scrub_registers();
}

/* Its frames are deeper than any that are live later, and are overwritten afterwards. */
NOINLINE static void leak_run_deep(const struct leak_case *leak)
{
	volatile char depth[16 * 1024];

	depth[0] = 0;
	leak->run();
	depth[1] = depth[0];
}

NOINLINE static void leak_print_tally(struct truth_text *out, const char *name, struct tally tally)
{
	if (tally.blocks == ANY)
		truth_print(out, "\"%s\":[null,null]", name);
	else if (tally.bytes == ANY)
		truth_print(out, "\"%s\":[%ld,null]", name, tally.blocks);
	else
		truth_print(out, "\"%s\":[%ld,%ld]", name, tally.blocks, tally.bytes);
}

NOINLINE static void leak_tell(int number, const struct leak_case *leak)
{
	static struct truth_text out;

	out.length = 0;
	truth_print(&out, "{\"number\":%d,\"case\":\"%s\",\"class\":{", number, leak->name);
	leak_print_tally(&out, "definite", leak->definite);
	truth_print(&out, ",");
	leak_print_tally(&out, "indirect", leak->indirect);
	truth_print(&out, ",");
	leak_print_tally(&out, "possible", leak->possible);
	truth_print(&out, ",");
	leak_print_tally(&out, "reachable", leak->reachable);
	truth_print(&out, ",");
	leak_print_tally(&out, "unknown", leak->unknown);
	truth_print(&out, "}}\n");
	truth_write(1, out.text, out.length);
}

NOINLINE static void leak_run_all(void)
{
	int count = (int)(__stop_leak_cases - __start_leak_cases);

	for (int i = 0; i < count; i++) {
		leak_case_now = i;
		leak_run_deep(__start_leak_cases[i]);
		leak_case_now = -1;
		leak_scrub();
		leak_tell(i, __start_leak_cases[i]);
	}
}

NOINLINE static void leak_wait(void)
{
	char byte;

	if (RUNNING_ON_VALGRIND) {
		VALGRIND_DO_LEAK_CHECK;
		return;
	}
	if (__lsan_do_recoverable_leak_check) {
		__lsan_do_recoverable_leak_check();
		return;
	}
	truth_write(1, "READY\n", 6);
	while (read(0, &byte, 1) > 0)
		;
}

/* The rest of main. Nothing is cleaned up: neither threads nor what atexit would free. */
__attribute__((noreturn)) NOINLINE static void leak_main(void)
{
	leak_run_all();
	leak_scrub();
	leak_wait();
	_exit(0);
}

#endif
