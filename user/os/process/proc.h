/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/PID: what it is, and what it maps. All functions: 0 or -errno; -ESRCH if it is gone. */
#ifndef MTRACE_OS_PROCESS_PROC_H
#define MTRACE_OS_PROCESS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct proc_info {
	pid_t pid;
	pid_t tgid; /* differs from pid if a thread id was given */
	pid_t ppid;
	pid_t inner_pid; /* its own number for itself, in a pid namespace further inside; or 0 */
	uint64_t start_time_ns; /* since boot */
	char state;             /* as in /proc/PID/stat: R S D Z T … */
	bool kernel_thread;
	bool seccomp; /* a filter or strict mode is on */
	char comm[32];
	char *exe;      /* link of /proc/PID/exe, without " (deleted)"; NULL if unreadable */
	char **command; /* NULL-terminated; at least one entry for a user process */
};

/* The thread by which /proc tells what a process maps and holds: the first one, which has the pid,
 * or another if it has ended before them. 0 if none is left. */
pid_t proc_living_thread(pid_t pid);

/* Their ids, as /proc lists them. Zeroed memory is an empty list, to be freed by vec_free. */
struct proc_threads {
	pid_t *items;
	size_t count;
	size_t capacity;
};

int proc_threads_read(pid_t pid, struct proc_threads *ret_threads);

/* How much memory this process has; 0 if that is not known. */
uint64_t own_resident_bytes(void);

int proc_info_read(pid_t pid, struct proc_info *ret_info);
void proc_info_free(struct proc_info *info);

struct proc_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	bool readable, writable, executable, shared;
	char *path; /* without " (deleted)"; "" if anonymous; "[heap]", "[vdso]" … as they are */
	bool deleted;
};

struct proc_maps {
	struct proc_mapping *items;
	size_t count;
	size_t capacity;
};

int proc_maps_read(pid_t pid, struct proc_maps *ret_maps);
/* The text of /proc/PID/maps, wherever it comes from. -EINVAL for what is no such text. */
int proc_maps_parse(FILE *text, struct proc_maps *ret_maps);
void proc_maps_free(struct proc_maps *maps);

/*
 * Open the very file that is mapped there, whatever namespace, chroot or deletion: by map_files,
 * else, if device and inode agree, by /proc/PID/root + path, or as its program or one of its
 * descriptors. Returns a descriptor or -errno.
 */
int proc_open_mapped(pid_t pid, const struct proc_mapping *mapping);

/* Read the target's memory: bytes read (may be short) or -errno. */
ssize_t proc_memory_read(pid_t pid, uint64_t address, void *buffer, size_t size);

/* CLOCK_MONOTONIC now. */
uint64_t clock_now_ns(void);
uint64_t clock_epoch_ms(void); /* CLOCK_REALTIME, since 1970 */

#endif
