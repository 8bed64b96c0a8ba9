/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The step from a frame to its caller's, for processors with a link register and without. */
#ifndef MTRACE_BPF_STEP_BPF_H
#define MTRACE_BPF_STEP_BPF_H

#include "bpf/walk.h"

#if REGS_LINKS

#include "arch/unwind_link.h"

/* The parts of struct unwind_linked that a walk must keep. The link register is only known where a
 * signal interrupted the code, and then it is in memory. */
struct walk_frame {
	struct unwind_frame frame;
	__u64 link_at; /* address where it is saved; 0: unknown */
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

/* Reads a word outside the window. Steps read more here, and a chain of calls has 512 bytes of
 * stack, so the word is not a variable of the caller. */
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

/* Initializes everything except ip, sp and bp. */
static __always_inline void walk_begin(struct walk_frame *frame)
{
	frame->frame.bp_place = UNWIND_BP_HELD;
	frame->link_at = 0;
}

/* The value of the link register; 0 if unknown. */
static __always_inline void walk_save_link(void *ctx, const struct walk_frame *frame,
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

/* Reads a word outside the window. */
static __always_inline int read_far(__u64 address, __u64 *ret_word)
{
	return read_user(address, ret_word);
}

static __always_inline void walk_begin(struct walk_frame *frame)
{
	frame->frame.bp_place = UNWIND_BP_HELD;
}

static __always_inline void walk_save_link(void *ctx, const struct walk_frame *frame,
					   __u64 *ret_link)
{
	(void)ctx;
	(void)frame;
	(void)ret_link;
}

#endif

#endif
