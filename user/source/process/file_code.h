/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the code of a process with the file that it was mapped from.
 *
 * The kernel places a probe by its offset in a file, and then runs the file's instruction. If the
 * process has other code there, such as a jump that another tool has written over it, the process
 * would crash.
 */
#ifndef MTRACE_SOURCE_PROCESS_FILE_CODE_H
#define MTRACE_SOURCE_PROCESS_FILE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/process/maps.h"
#include "source/process/traced_process.h"

/* On overlayfs, /proc/PID/maps and the file's status identify it differently. */
bool file_code_is_of(const struct proc_mapping *mapping, const struct module *module);

/*
 * Returns true if the process has other code than the file where a probe is to be placed.
 * Breakpoints do not count: the kernel allows several probes at a place. Only for x86-64, where
 * gates are (gate/gates.h).
 */
bool file_code_differs(const struct traced_process *process, const struct proc_maps *maps,
		       const struct module *module, uint64_t offset);

#endif
