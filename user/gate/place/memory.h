/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_GATE_PLACE_MEMORY_H
#define MTRACE_GATE_PLACE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens the memory of a process (/proc/PID/mem); `flags` as in open(2). Returns a descriptor or
 * -errno. */
int gate_memory_open(pid_t pid, int flags);

/* Read or write all bytes, where pread and pwrite may transfer some. Return 0 or -errno: -ESRCH if
 * the process has exited, -EIO or -EFAULT if nothing is mapped there. */
int gate_memory_read(int memory, uint64_t address, void *bytes, size_t size);
int gate_memory_write(int memory, uint64_t address, const void *bytes, size_t size);

#endif
