/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bulk reads of another process's memory. */
#ifndef MTRACE_OS_MEMORY_MEMORY_H
#define MTRACE_OS_MEMORY_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEMORY_PIECES 512 /* maximum number of pieces per call */

struct memory_piece {
	uint64_t address;
	size_t size;
};

struct memory {
	pid_t pid;
	int file; /* /proc/PID/mem, or -1 */
	/* True if the process shares pages with a relative since a fork. process_vm_readv pins the
	 * pages that it reads, which makes the kernel copy shared ones; /proc/PID/mem does not, but
	 * is slower. */
	atomic_bool shares;
};

/* Returns 0 or -errno (-ESRCH, -EACCES). */
int memory_open(struct memory *ret_memory, pid_t pid);
void memory_close(struct memory *memory);

/*
 * Reads the pieces into the buffer, one after the other. Returns the number of bytes read: all, or
 * those before the first page that cannot be read. Returns -ESRCH if the process or its memory is
 * gone. Reading a page that was never touched makes the kernel allocate it; os/memory/pagemap.h
 * tells which pages those are. Can be called from any thread.
 */
ssize_t memory_read(const struct memory *memory, const struct memory_piece *pieces, size_t count,
		    void *buffer);

#endif
