/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_BPF_CALLER_H
#define MTRACE_BPF_CALLER_H

#include "bpf/abi.h"

/* The caller's frame, where a stack walk starts: the registers right after the call has
 * returned. */
struct caller_frame {
	abi_u64 ip;
	abi_u64 sp;
	abi_u64 bp;
	abi_u32 word; /* bytes of an address */
	abi_u32 pad;
};

#endif
