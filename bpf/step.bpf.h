/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The step from a frame to its caller's as the processor needs it: with a link register or without.
 */
#ifndef MTRACE_BPF_STEP_BPF_H
#define MTRACE_BPF_STEP_BPF_H

#include "bpf/walk.h"

#if REGS_LINKS

#include "arch/unwind_link.h"

/* Of struct unwind_linked what a walk has to keep, in little room. The link register is known only
 * where a signal has interrupted the code, and then it is saved. */
struct walk_frame {
	struct unwind_frame frame;
	__u64 link_at; /* where it is saved; 0: it is not known */
};

static __always_inline enum unwind_result walk_step(void *ctx, const struct unwind_abi *abi,
						    const struct unwind_row *row,
						    struct walk_frame *frame)
{
	struct unwind_linked linked = {
		.frame = frame->frame,
		.link = {frame->link_at, frame->link_at ? UNWIND_BP_IN_MEMORY : UNWIND_BP_UNKNOWN},
		.second.place = UNWIND_BP_UNKNOWN,
	};
	enum unwind_result result = unwind_link_step(ctx, abi, row, &linked);

	frame->frame = linked.frame;
	frame->link_at = linked.link.place == UNWIND_BP_IN_MEMORY ? linked.link.value : 0;
	return result;
}

/* A word that the window has not. Here steps read more, and a chain of calls has 512 bytes of
 * stack: so the word is no variable of the caller's. */
static __noinline __u64 read_aside(__u64 address)
{
	__u64 word;

	return read_user(address, &word) ? READ_FAILED : word;
}

static __always_inline int read_far(__u64 address, __u64 *ret_word)
{
	*ret_word = read_aside(address);
	return *ret_word == READ_FAILED ? -1 : 0;
}

/* All but ip, sp and bp. */
static __always_inline void walk_begin(struct walk_frame *frame)
{
	frame->frame.bp_place = UNWIND_BP_HELD;
	frame->link_at = 0;
}

/* What is in the link register; 0 if that is not known. */
static __always_inline void walk_tell_link(void *ctx, const struct walk_frame *frame,
					   __u64 *ret_link)
{
	if (!frame->link_at || unwind_read(ctx, &REGS_UNWIND_ABI, frame->link_at, ret_link))
		*ret_link = 0;
}

#else

struct walk_frame {
	struct unwind_frame frame;
};

static __always_inline enum unwind_result walk_step(void *ctx, const struct unwind_abi *abi,
						    const struct unwind_row *row,
						    struct walk_frame *frame)
{
	return unwind_step(ctx, abi, row, &frame->frame);
}

/* A word that the window has not. */
static __always_inline int read_far(__u64 address, __u64 *ret_word)
{
	return read_user(address, ret_word);
}

static __always_inline void walk_begin(struct walk_frame *frame)
{
	frame->frame.bp_place = UNWIND_BP_HELD;
}

static __always_inline void walk_tell_link(void *ctx, const struct walk_frame *frame,
					   __u64 *ret_link)
{
	(void)ctx;
	(void)frame;
	(void)ret_link;
}

#endif

#endif
