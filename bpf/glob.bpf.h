/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Globs for the kernel side: * for any run of characters, ? for any one, all else for itself. The
 * newest star takes one character more whenever what follows it does not match: enough for globs,
 * and without recursion. Knows no BPF helper; tests/bpf compiles it for the host.
 */
#ifndef MTRACE_BPF_GLOB_BPF_H
#define MTRACE_BPF_GLOB_BPF_H

#include "bpf/abi.h"

#define GLOB_STEPS 512 /* more than any name of 15 characters needs; a longer search is no match */

struct glob_walk {
	abi_u32 pattern;
	abi_u32 text;
	abi_u32 star; /* place behind the newest, 0: none */
	abi_u32 taken; /* where the text goes on behind what it took */
};

static __always_inline char glob_char(const volatile char *text, abi_u32 place)
{
	return text[place & (GLOB_MAX - 1)];
}

/* One step. Returns 1 while there is more to do; else the walk is over: at the end of both, or not.
 */
static __always_inline int glob_step(struct glob_walk *walk, const volatile char *pattern,
				     const volatile char *text)
{
	char wanted = glob_char(pattern, walk->pattern), found = glob_char(text, walk->text);

	if (wanted == '*') {
		walk->star = ++walk->pattern;
		walk->taken = walk->text;
		return 1;
	}
	if (found && (wanted == found || wanted == '?')) {
		walk->pattern++;
		walk->text++;
		return 1;
	}
	if (!walk->star || !found)
		return 0;
	walk->pattern = walk->star;
	walk->text = ++walk->taken;
	return 1;
}

/* Always 0, but the verifier does not know: it would follow each way through the walk apart. */
static volatile abi_u32 glob_start;

/* Both end with a NUL within GLOB_MAX bytes. */
static __always_inline int glob_matches(const volatile char *pattern, const volatile char *text)
{
	abi_u32 start = glob_start;
	struct glob_walk walk = {start, start, start, start};

	for (int i = 0; i < GLOB_STEPS; i++)
		if (!glob_step(&walk, pattern, text))
			break;
	return !glob_char(pattern, walk.pattern) && !glob_char(text, walk.text);
}

#endif
