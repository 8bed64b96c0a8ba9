/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks each new stack: there must be a call before each return address. If a step went wrong
 * (wrong call frame information, a return address pushed by hand, a misguessed frame pointer), the
 * next address most likely does not follow a call. The stack then ends before it, with a note: a
 * short stack is better than a wrong one.
 *
 * Each address is checked once, in the module's file. The result is cached while the process's
 * mappings stay the same.
 */
#ifndef MTRACE_SOURCE_UNWIND_STACK_CHECK_H
#define MTRACE_SOURCE_UNWIND_STACK_CHECK_H

#include "source/process/traced_process.h"

/*
 * Returns how many frames, from the first one on, are plausible; at least 1. Does not check the
 * first frame, to which the kernel returned; frames that no call left (STACK_EXACT); and code
 * without a file.
 */
uint32_t stack_check(struct traced_process *process, const uint64_t *frames, uint32_t count);

#endif
