/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of a stopped thread, in the form that arch/arch.h uses. */
#ifndef MTRACE_SOURCE_PTRACE_BREAKPOINT_REGISTERS_H
#define MTRACE_SOURCE_PTRACE_BREAKPOINT_REGISTERS_H

#include <sys/types.h>

#include "arch/arch.h"

/* Return 0 or -errno: the thread was killed, or its kind of code is unknown. */
int task_registers_get(pid_t tid, struct arch_registers *ret_registers);
int task_registers_set(pid_t tid, const struct arch_registers *registers);
/* Sets only the instruction pointer, at half the cost if the kernel has a call for it. */
int task_registers_set_ip(pid_t tid, const struct arch_registers *registers);

#endif
