/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recognises programs that execute a translation of another program's code, including any
 * breakpoints in it: valgrind, whose tools run as executables from a directory of its own, and qemu
 * user emulation of our own processor. (Its other emulators read code in which nothing is probed.)
 *
 * Checked at exec, and by user space for running processes. Uses no BPF helper.
 */
#ifndef MTRACE_BPF_TRANSLATOR_BPF_H
#define MTRACE_BPF_TRANSLATOR_BPF_H

#include "bpf/abi.h"

#define TOOL_DIRECTORY "valgrind"
#define TOOL_SUFFIX    "-linux" /* memcheck-amd64-linux */

/* Both are terminated by NUL. */
struct translator_names {
	char name[NAME_SIZE_MAX];
	char directory[NAME_SIZE_MAX];
};

static __always_inline int has_word(const char *name, abi_u64 place, const char *word, int length)
{
	for (int i = 0; i < length; i++)
		if (name[(place + i) & (NAME_SIZE_MAX - 1)] != word[i])
			return 0;
	return 1;
}

/* HAS_END and IS_NAME compare the terminating NUL, too. */
#define HAS_PREFIX(name, word)      has_word(name, 0, word, sizeof(word) - 1)
#define HAS_END(name, word, length) has_word(name, (length) - sizeof(word), word, sizeof(word))
#define IS_NAME(name, word)         has_word(name, 0, word, sizeof(word))

/* qemu for our own processor and the others that it can run natively. */
static __always_inline int is_own_qemu(const char *name)
{
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
	return HAS_PREFIX(name, "qemu-aarch64");
#else
	return HAS_PREFIX(name, "qemu-x86_64") || HAS_PREFIX(name, "qemu-i386");
#endif
}

/* `length` is that of the name, including its NUL. */
static __always_inline int is_translator(const struct translator_names *names, abi_u64 length)
{
	if (is_own_qemu(names->name) || IS_NAME(names->name, "valgrind") ||
	    IS_NAME(names->name, "valgrind.bin"))
		return 1;
	return length > sizeof(TOOL_SUFFIX) && IS_NAME(names->directory, TOOL_DIRECTORY) &&
	       HAS_END(names->name, TOOL_SUFFIX, length);
}

#endif
