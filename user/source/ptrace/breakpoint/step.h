/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SOURCE_PTRACE_BREAKPOINT_STEP_H
#define MTRACE_SOURCE_PTRACE_BREAKPOINT_STEP_H

#include "arch/arch.h"
#include "source/ptrace/tracer/tracer.h"

/*
 * The instruction under the breakpoint at the registers' ip, where the thread stands. 0: the
 * thread's registers are those after it. -1: something came in between (a signal, its death), which
 * *ret_status tells as waitpid does; if the instruction has not run, the task remembers that all
 * else of this breakpoint is done.
 */
int step_over(struct task *task, struct arch_registers *registers, int *ret_status);

#endif
