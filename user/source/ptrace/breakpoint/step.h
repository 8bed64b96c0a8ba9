/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SOURCE_PTRACE_BREAKPOINT_STEP_H
#define MTRACE_SOURCE_PTRACE_BREAKPOINT_STEP_H

#include "arch/arch.h"
#include "source/ptrace/tracer/tracer.h"

/*
 * Runs the instruction under the breakpoint at the registers' ip, where the thread is stopped.
 * Returns 0, and the thread's registers are those after it. Returns -1 if something happened first
 * (a signal, its death), with *ret_status as from waitpid. If the instruction has not run then, the
 * task remembers that this hit has been handled.
 */
int step_over(struct task *task, struct arch_registers *registers, int *ret_status);

#endif
