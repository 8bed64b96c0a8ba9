/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A second look at each stack that is new: before a return address there is a call. Where a step
 * went wrong (call frame information that lies, a return address that was pushed by hand, a frame
 * pointer believed that was none) the next address is most likely anything but that. Such a stack
 * ends before it, and says so: better a short stack than a wrong one.
 *
 * Each address is looked at once, in the module's file; as long as the process's mappings are the
 * same the answer is remembered.
 */
#ifndef MTRACE_SOURCE_UNWIND_STACK_CHECK_H
#define MTRACE_SOURCE_UNWIND_STACK_CHECK_H

#include "source/process/traced_process.h"

/*
 * How many of the frames, from the first, can be right; at least 1. Not asked of are the first, by
 * which the kernel returned; those that no call left (STACK_EXACT); and code without a file.
 */
uint32_t stack_check(struct traced_process *process, const uint64_t *frames, uint32_t count);

#endif
