/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/resident.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/procfs.h"

int resident_bytes(pid_t pid, uint64_t *ret_bytes)
{
	uint64_t pages;
	size_t size;
	char *text;
	int err = procfs_read(pid, "statm", &text, &size);

	if (err)
		return err;
	if (sscanf(text, "%*u %" SCNu64, &pages) == 1)
		*ret_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	else
		err = -EINVAL;
	free(text);
	return err;
}

int resident_available(uint64_t *ret_bytes)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t kib;
	char line[128];
	int err = -ENOENT;

	if (!file)
		return -errno;
	while (err && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) != 1)
			continue;
		*ret_bytes = kib * 1024;
		err = 0;
	}
	fclose(file);
	return err;
}
