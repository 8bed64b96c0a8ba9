/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Globs for the kernel side: * for any run of characters, ? for any one, all else for itself. The
 * newest star takes one character more whenever what follows it does not match: enough for globs,
 * and without recursion.
 *
 * A step is a global function of scalars, so that the verifier looks at it once and not in all the
 * ways that lead there. Knows no BPF helper; tests/bpf compiles it for the host.
 */
#ifndef MTRACE_BPF_GLOB_BPF_H
#define MTRACE_BPF_GLOB_BPF_H

#include "bpf/abi.h"

#define GLOB_STEPS 512 /* a search that takes more is no match */

/* Both end with a NUL within GLOB_MAX bytes. */
struct glob_words {
	char pattern[GLOB_MAX];
	char text[GLOB_MAX];
};

/* Where a walk is: four places of a byte each, and whether it is over. */
#define GLOB_PATTERN(walk)    ((walk)&0xff)
#define GLOB_TEXT(walk)       ((walk) >> 8 & 0xff)
#define GLOB_STAR(walk)       ((walk) >> 16 & 0xff) /* behind the newest, 0: none */
#define GLOB_TAKEN(walk)      ((walk) >> 24 & 0xff) /* where the text goes on behind what it took */
#define GLOB_WALK(p, t, s, k) ((p) | (t) << 8 | (s) << 16 | (k) << 24)
#define GLOB_OVER             (1ULL << 32)

static __always_inline char glob_char(const char *text, abi_u64 place)
{
	return text[place & (GLOB_MAX - 1)];
}

/* With GLOB_OVER it stands where it ended: at the end of both, or not. */
abi_u64 glob_step(const struct glob_words *words, abi_u64 walk);
__attribute__((noinline)) abi_u64 glob_step(const struct glob_words *words, abi_u64 walk)
{
	abi_u64 pattern = GLOB_PATTERN(walk), text = GLOB_TEXT(walk);
	abi_u64 star = GLOB_STAR(walk), taken = GLOB_TAKEN(walk);
	char wanted, found;

	if (!words)
		return GLOB_OVER;
	wanted = glob_char(words->pattern, pattern);
	found = glob_char(words->text, text);
	if (wanted == '*')
		return GLOB_WALK(pattern + 1, text, pattern + 1, text);
	if (found && (wanted == found || wanted == '?'))
		return GLOB_WALK(pattern + 1, text + 1, star, taken);
	if (!star || !found)
		return walk | GLOB_OVER;
	return GLOB_WALK(star, taken + 1, star, taken + 1);
}

static __always_inline int glob_matches(const struct glob_words *words)
{
	abi_u64 walk = 0;

	for (int i = 0; i < GLOB_STEPS && !(walk & GLOB_OVER); i++)
		walk = glob_step(words, walk);
	return walk & GLOB_OVER && !glob_char(words->pattern, GLOB_PATTERN(walk)) &&
	       !glob_char(words->text, GLOB_TEXT(walk));
}

#endif
