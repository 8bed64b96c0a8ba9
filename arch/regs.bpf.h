/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Register access for BPF programs, for the processor that they are compiled for. */
#ifndef MTRACE_ARCH_REGS_BPF_H
#define MTRACE_ARCH_REGS_BPF_H

#if defined(__TARGET_ARCH_x86)
#include "arch/x86.bpf.h"
#elif defined(__TARGET_ARCH_arm64)
#include "arch/arm64.bpf.h"
#elif defined(__TARGET_ARCH_powerpc)
#include "arch/powerpc.bpf.h"
#else
#error "there is no arch/*.bpf.h of that processor"
#endif

#endif
