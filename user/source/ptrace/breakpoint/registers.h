/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of a thread that stands, as its processor's operations take them (arch/arch.h). */
#ifndef MTRACE_SOURCE_PTRACE_BREAKPOINT_REGISTERS_H
#define MTRACE_SOURCE_PTRACE_BREAKPOINT_REGISTERS_H

#include <sys/types.h>

#include "arch/arch.h"

/* 0 or -errno: it was killed, or its code is of a kind that we do not know. */
int task_registers_get(pid_t tid, struct arch_registers *ret_registers);
int task_registers_set(pid_t tid, const struct arch_registers *registers);
/* The instruction pointer alone, which costs half of that where the kernel has a call for it. */
int task_registers_set_ip(pid_t tid, const struct arch_registers *registers);

#endif
