/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_GATE_PLACE_MEMORY_H
#define MTRACE_GATE_PLACE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Like pread and pwrite, but on memory of a process, and complete. Return 0 or -errno: -ESRCH if
 * the process has exited, -EIO or -EFAULT if nothing is mapped there. */
int gate_memory_read(int memory, uint64_t address, void *bytes, size_t size);
int gate_memory_write(int memory, uint64_t address, const void *bytes, size_t size);

#endif
