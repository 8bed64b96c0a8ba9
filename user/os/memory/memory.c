/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process_vm_readv copies whole lists of ranges, at 5 to 7 GB/s if they have 64 KiB or more. At a
 * page that it cannot read, it returns what it has so far, in units that depend on the kernel. So a
 * short result only means that an unreadable page may be near: one page is tried alone, and then
 * reading goes on after it. /proc/PID/mem can read even a page whose protection forbids reading
 * (PROT_NONE); it costs one open file and nothing else.
 */
#include "os/memory/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "os/process/procfs.h"

#define PAGE_SIZE 4096u /* the real page size is a multiple of this on every machine */

int memory_open(struct memory *ret_memory, pid_t pid)
{
	int file = procfs_open(pid, "mem");

	if (file == -ESRCH || file == -ENOMEM)
		return file;
	ret_memory->pid = pid;
	ret_memory->file = file < 0 ? -1 : file;
	atomic_init(&ret_memory->shares, false);
	return 0;
}

void memory_close(struct memory *memory)
{
	if (memory && memory->file >= 0)
		close(memory->file);
}

/* The position in the list of pieces. */
struct piece_cursor {
	const struct memory_piece *pieces;
	size_t count;
	size_t offset; /* in the first piece */
};

static void cursor_advance(struct piece_cursor *cursor, size_t bytes)
{
	while (cursor->count && bytes >= cursor->pieces->size - cursor->offset) {
		bytes -= cursor->pieces->size - cursor->offset;
		cursor->pieces++;
		cursor->count--;
		cursor->offset = 0;
	}
	cursor->offset += bytes;
}

static bool cursor_at_end(const struct piece_cursor *cursor)
{
	return !cursor->count;
}

static uint64_t cursor_address(const struct piece_cursor *cursor)
{
	return cursor->pieces->address + cursor->offset;
}

/* The number of bytes to the end of the page or of the piece, whichever comes first. */
static size_t cursor_page(const struct piece_cursor *cursor)
{
	size_t page = PAGE_SIZE - cursor_address(cursor) % PAGE_SIZE;
	size_t piece = cursor->pieces->size - cursor->offset;

	return piece < page ? piece : page;
}

/* Reading memory of an exited process returns 0 bytes; that becomes -ESRCH. */
static ssize_t read_file(const struct memory *memory, uint64_t address, size_t size, void *buffer)
{
	ssize_t got = pread(memory->file, buffer, size, (off_t)address);

	if (got < 0)
		return -errno;
	return got ? got : -ESRCH;
}

static bool reads_by_file(const struct memory *memory)
{
	return memory->file >= 0 && atomic_load_explicit(&memory->shares, memory_order_relaxed);
}

static ssize_t read_rest(const struct memory *memory, const struct piece_cursor *cursor,
			 void *buffer)
{
	struct iovec remote[MEMORY_PIECES];
	struct iovec local = {.iov_base = buffer};
	ssize_t got;

	if (reads_by_file(memory))
		return read_file(memory, cursor_address(cursor),
				 cursor->pieces->size - cursor->offset, buffer);
	for (size_t i = 0; i < cursor->count; i++) {
		size_t skip = i ? 0 : cursor->offset;

		remote[i].iov_base = (void *)(uintptr_t)(cursor->pieces[i].address + skip);
		remote[i].iov_len = cursor->pieces[i].size - skip;
		local.iov_len += remote[i].iov_len;
	}
	got = process_vm_readv(memory->pid, &local, 1, remote, cursor->count, 0);
	return got < 0 ? -errno : got;
}

static ssize_t read_page(const struct memory *memory, const struct piece_cursor *cursor,
			 void *buffer)
{
	size_t size = cursor_page(cursor);
	uint64_t address = cursor_address(cursor);
	ssize_t got = reads_by_file(memory) ? -EFAULT
					    : proc_memory_read(memory->pid, address, buffer, size);

	if (got == (ssize_t)size || got == -ESRCH)
		return got;
	if (memory->file < 0)
		return 0;
	got = pread(memory->file, buffer, size, (off_t)address);
	return got == (ssize_t)size ? got : 0;
}

ssize_t memory_read(const struct memory *memory, const struct memory_piece *pieces, size_t count,
		    void *buffer)
{
	struct piece_cursor cursor = {.pieces = pieces, .count = count};
	char *out = buffer;

	while (!cursor_at_end(&cursor)) {
		ssize_t got = read_rest(memory, &cursor, out);

		if (got <= 0 && got != -ESRCH)
			got = read_page(memory, &cursor, out);
		if (got == -ESRCH)
			return got;
		if (got <= 0)
			break;
		out += got;
		cursor_advance(&cursor, (size_t)got);
	}
	return out - (char *)buffer;
}
