/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_BPF_CALLER_H
#define MTRACE_BPF_CALLER_H

#include "bpf/abi.h"

/* Who called, as a stack's walk needs it: the registers right after the return of the call. */
struct caller_frame {
	abi_u64 ip;
	abi_u64 sp;
	abi_u64 bp;
	abi_u32 word; /* of its addresses, bytes */
	abi_u32 pad;
};

#endif
