/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading much of another process's memory. */
#ifndef MTRACE_OS_MEMORY_MEMORY_H
#define MTRACE_OS_MEMORY_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEMORY_PIECES 512 /* at most, in one call */

struct memory_piece {
	uint64_t address;
	size_t size;
};

struct memory {
	pid_t pid;
	int file; /* /proc/PID/mem, or -1 */
	/* Some of its pages it shares with a relative since a fork. process_vm_readv would make the
	 * kernel copy those, for it pins what it reads; /proc/PID/mem does not, and is slower. */
	atomic_bool shares;
};

/* 0 or -errno (-ESRCH, -EACCES). */
int memory_open(struct memory *ret_memory, pid_t pid);
void memory_close(struct memory *memory);

/*
 * Read the pieces into the buffer, one behind the other. Returns the bytes read: all, or as many as
 * lie before the first page that cannot be read; -ESRCH if the process or its memory is gone.
 * Faults in what was never touched (os/memory/pagemap.h tells). Any thread.
 */
ssize_t memory_read(const struct memory *memory, const struct memory_piece *pieces, size_t count,
		    void *buffer);

#endif
