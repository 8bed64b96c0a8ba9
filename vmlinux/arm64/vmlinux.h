/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel on AArch64, as the BPF programs know it. */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

/* include/linux/maple_tree.h, where words have 64 bits. */
#define MAPLE_RANGE64_SLOTS  16
#define MAPLE_ARANGE64_SLOTS 10

#include "vmlinux/by_name.h"

/* User ABI: arch/arm64/include/uapi/asm/ptrace.h. struct pt_regs begins with it, and a program of a
 * probe may read no further. */
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

struct pt_regs {
	struct user_pt_regs user_regs;
};

#endif
