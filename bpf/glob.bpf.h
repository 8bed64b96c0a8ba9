/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Globs for the BPF programs: * matches any run of characters, ? any single one, all others
 * themselves. On a mismatch, the last star takes one more character: sufficient for globs, and
 * without recursion.
 *
 * A step is a global function of scalars, so that the verifier checks it once rather than on each
 * path to it. Uses no BPF helper; tests/bpf compiles it for the host.
 */
#ifndef MTRACE_BPF_GLOB_BPF_H
#define MTRACE_BPF_GLOB_BPF_H

#include "bpf/abi.h"

#define GLOB_STEPS 512 /* a longer search counts as no match */

/* Both are terminated by NUL within GLOB_MAX bytes. */
struct glob_words {
	char pattern[GLOB_MAX];
	char text[GLOB_MAX];
};

/* The state of a match: four positions of a byte each, and a flag for the end. */
#define GLOB_PATTERN(walk)    ((walk)&0xff)
#define GLOB_TEXT(walk)       ((walk) >> 8 & 0xff)
#define GLOB_STAR(walk)       ((walk) >> 16 & 0xff) /* after the last star; 0: none */
#define GLOB_TAKEN(walk)      ((walk) >> 24 & 0xff) /* text position after what it has taken */
#define GLOB_WALK(p, t, s, k) ((p) | (t) << 8 | (s) << 16 | (k) << 24)
#define GLOB_OVER             (1ULL << 32)

static __always_inline char glob_char(const char *text, abi_u64 place)
{
	return text[place & (GLOB_MAX - 1)];
}

/* Performs one step. With GLOB_OVER, it matches if both positions are at the end. */
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
