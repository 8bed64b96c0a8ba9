// SPDX-License-Identifier: GPL-2.0-or-later
#include "gate/place/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/process/procfs.h"

int gate_memory_open(pid_t pid, int flags)
{
	char path[PROCFS_PATH_SIZE];
	int memory;

	procfs_path(path, pid, "mem");
	memory = open(path, flags | O_CLOEXEC);
	return memory < 0 ? -errno : memory;
}

static int transfer_result(ssize_t done)
{
	if (done < 0)
		return errno == EINTR ? 0 : -errno;
	return done ? 0 : -ESRCH; /* no memory is left */
}

int gate_memory_read(int memory, uint64_t address, void *bytes, size_t size)
{
	size_t done = 0;
	int err = 0;

	while (!err && done < size) {
		ssize_t got =
			pread(memory, (char *)bytes + done, size - done, (off_t)(address + done));

		err = transfer_result(got);
		done += got > 0 ? (size_t)got : 0;
	}
	return err;
}

int gate_memory_write(int memory, uint64_t address, const void *bytes, size_t size)
{
	size_t done = 0;
	int err = 0;

	while (!err && done < size) {
		ssize_t put = pwrite(memory, (const char *)bytes + done, size - done,
				     (off_t)(address + done));

		err = transfer_result(put);
		done += put > 0 ? (size_t)put : 0;
	}
	return err;
}
