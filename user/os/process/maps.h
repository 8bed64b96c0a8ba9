/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process maps, from /proc/PID/maps. All functions return 0 or -errno; -ESRCH if the process
 * has exited. */
#ifndef MTRACE_OS_PROCESS_MAPS_H
#define MTRACE_OS_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct proc_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	bool readable, writable, executable, shared;
	char *path; /* without " (deleted)"; "" if anonymous; "[heap]", "[vdso]" … are kept */
	bool deleted;
};

struct proc_maps {
	struct proc_mapping *items;
	size_t count;
	size_t capacity;
};

int proc_maps_read(pid_t pid, struct proc_maps *ret_maps);
/* Parses the text of /proc/PID/maps. Returns -EINVAL if it is malformed. */
int proc_maps_parse(FILE *text, struct proc_maps *ret_maps);
void proc_maps_free(struct proc_maps *maps);

/*
 * Opens the file of a mapping, in any namespace or chroot, even if it was deleted. Tries map_files
 * and then, if device and inode match, /proc/PID/root + path, the program and the descriptors of
 * the process. Returns a descriptor or -errno.
 */
int proc_open_mapped(pid_t pid, const struct proc_mapping *mapping);

#endif
