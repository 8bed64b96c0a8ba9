/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the stack and thread pointers lie in the registers that ptrace gives (NT_PRSTATUS), and
 * what else differs between the kinds of threads that a tracer meets.
 */
#ifndef MTRACE_ARCH_REGISTERS_H
#define MTRACE_ARCH_REGISTERS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define REGISTERS_NO_THREAD 0xffff

/* A tracer of 64 bits meets threads of two kinds; the size of the set tells which. */
struct registers_layout {
	uint16_t size;   /* bytes of the set */
	uint16_t word;   /* bytes of a pointer */
	uint16_t stack;  /* offset of the stack pointer */
	uint16_t thread; /* of the thread pointer; REGISTERS_NO_THREAD */
	uint16_t red_zone;
	uint16_t chunk; /* glibc's malloc gives multiples of so many bytes, headers included */
	/* Numbers of the system calls that end a thread, end a process, and begin a new image. */
	uint16_t exit, exit_group, execve, execveat;
};

static const struct registers_layout registers_layouts[] = {
#if defined(__x86_64__) || defined(__i386__)
	{216, 8, 152, 168, 128, 16, 60, 231, 59, 322}, /* user_regs_struct: rsp, fs_base */
	{68, 4, 60, REGISTERS_NO_THREAD, 0, 16, 1, 252, 11, 358}, /* user_regs_struct32: esp */
#elif defined(__aarch64__) || defined(__arm__)
	{272, 8, 248, REGISTERS_NO_THREAD, 0, 16, 93, 94, 221, 281}, /* user_pt_regs: sp */
	{72, 4, 52, REGISTERS_NO_THREAD, 0, 8, 1, 248, 11, 387},     /* r13 */
#elif defined(__powerpc__)
	{192, 4, 4, REGISTERS_NO_THREAD, 0, 16, 1, 234, 11, 362}, /* r1, r2 */
	{384, 8, 8, REGISTERS_NO_THREAD, 288, 16, 1, 234, 11, 362},
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

static inline uint64_t registers_word(const void *set, size_t offset, size_t word)
{
	uint64_t wide;
	uint32_t narrow;

	if (word == sizeof(wide)) {
		memcpy(&wide, (const char *)set + offset, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, (const char *)set + offset, sizeof(narrow));
	return narrow;
}

#endif
