/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that a gate has sampled (enum gate_part).
 *
 * The gate does what the entry programs do for other calls: it ignores nested calls, keeps the
 * arguments until the function returns, and draws the sample. So one probe has all information, and
 * no call is pending.
 *
 * The gate is in the traced process, which can change what it passes: an invalid sample is ignored
 * and counted.
 *
 * Like alloc.bpf.h, this file uses no helper and no map, and tests/bpf compiles it for the host.
 */
#ifndef MTRACE_BPF_GATE_BPF_H
#define MTRACE_BPF_GATE_BPF_H

#include "bpf/alloc.bpf.h"

static __always_inline int is_gate_sample(abi_u32 sample)
{
	return sample == SAMPLE_NOT || sample - 1 < SAMPLE_LEVELS;
}

/* The frame of the function that called the gate's. If its address cannot be read, the call is
 * reported nevertheless: a missed call costs more than its stack. */
static __always_inline struct caller_frame gate_caller(const struct pt_regs *regs)
{
	abi_u64 place = regs_sp(regs) + GATE_FRAME;
	struct caller_frame caller = {
		.sp = place + sizeof(abi_u64),
		.bp = regs_bp(regs),
		.word = sizeof(abi_u64),
	};

	if (read_user(place, &caller.ip))
		count_loss(LOSS_READ);
	return caller;
}

static __always_inline void gate_call(struct pt_regs *regs, abi_u64 cookie)
{
	int begins = (COOKIE_FLAGS(cookie) & COOKIE_FLAG_BEGIN) != 0;
	abi_u32 sample = regs_gate_sample(regs);
	abi_u32 part = COOKIE_GATE_PART(cookie);
	struct caller_frame caller;

	if (!is_gate_sample(sample)) {
		count_loss(LOSS_READ);
		return;
	}
	caller = gate_caller(regs);
	if (part == GATE_BEGIN || (part == GATE_WHOLE && begins))
		emit_begin(regs, cookie, sample, caller.ip);
	if (part != GATE_BEGIN)
		emit_outcome_to(regs, cookie,
				payload_with(cookie, call_payload(regs, cookie), sample), &caller);
}

#endif
