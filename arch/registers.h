/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The offsets of the stack and thread pointers in ptrace's registers (NT_PRSTATUS), and other
 * differences between the kinds of threads that a tracer meets.
 */
#ifndef MTRACE_ARCH_REGISTERS_H
#define MTRACE_ARCH_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define REGISTERS_NO_THREAD 0xffff
/* The thread pointer is this far above the thread control block (PowerPC: ELF ABI supplement, TLS).
 */
#ifdef __powerpc__
#define REGISTERS_THREAD_BIAS 0x7000
#else
#define REGISTERS_THREAD_BIAS 0
#endif

/* A 64-bit tracer meets two kinds of threads, which differ in the size of the register set. */
struct registers_layout {
	uint16_t size;   /* bytes of the register set */
	uint16_t word;   /* bytes of a pointer */
	uint16_t stack;  /* offset of the stack pointer */
	uint16_t thread; /* offset of the thread pointer, or REGISTERS_NO_THREAD */
	uint16_t red_zone;
	uint16_t chunk; /* glibc's malloc rounds sizes, including headers, to multiples of this */
	/* Numbers of the system calls that end a thread, end a process, and execute a program. */
	uint16_t exit, exit_group, execve, execveat;
	uint16_t forks[4]; /* of those that create a thread or a process */
};

static const struct registers_layout registers_layouts[] = {
#if defined(__x86_64__) || defined(__i386__)
	/* user_regs_struct: rsp, fs_base */
	{216, 8, 152, 168, 128, 16, 60, 231, 59, 322, {56, 57, 58, 435}},
	/* user_regs_struct32: esp */
	{68, 4, 60, REGISTERS_NO_THREAD, 0, 16, 1, 252, 11, 358, {120, 2, 190, 435}},
#elif defined(__aarch64__) || defined(__arm__)
	/* user_pt_regs: sp */
	{272, 8, 248, REGISTERS_NO_THREAD, 0, 16, 93, 94, 221, 281, {220, 220, 220, 435}},
	/* r13 */
	{72, 4, 52, REGISTERS_NO_THREAD, 0, 8, 1, 248, 11, 387, {120, 2, 190, 435}},
#elif defined(__powerpc__)
	/* r1, r2; r1, r13 */
	{192, 4, 4, 8, 0, 16, 1, 234, 11, 362, {120, 2, 189, 435}},
	{384, 8, 8, 104, 288, 16, 1, 234, 11, 362, {120, 2, 189, 435}},
#endif
};

static inline const struct registers_layout *registers_layout_find(size_t size)
{
	for (size_t i = 0; i < sizeof(registers_layouts) / sizeof(registers_layouts[0]); i++)
		if (registers_layouts[i].size == size)
			return &registers_layouts[i];
	return NULL;
}

static inline const struct registers_layout *registers_layout_of_word(uint32_t word)
{
	for (size_t i = 0; i < sizeof(registers_layouts) / sizeof(registers_layouts[0]); i++)
		if (registers_layouts[i].word == word)
			return &registers_layouts[i];
	return NULL;
}

/* Returns true if the call creates threads or processes in any kind of thread. */
static inline bool registers_call_forks(long call)
{
	const struct registers_layout *layout = registers_layouts;
	const size_t kinds = sizeof(registers_layouts) / sizeof(*layout);

	for (size_t i = 0; i < kinds * 4; i++)
		if (call == layout[i / 4].forks[i % 4])
			return true;
	return false;
}

static inline uint64_t registers_word(const void *set, size_t offset, size_t word)
{
	uint64_t wide;
	uint32_t word32;

	if (word == sizeof(wide)) {
		memcpy(&wide, (const char *)set + offset, sizeof(wide));
		return wide;
	}
	memcpy(&word32, (const char *)set + offset, sizeof(word32));
	return word32;
}

#endif
