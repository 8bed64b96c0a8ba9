/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process is, by /proc/PID. All functions return 0 or -errno; -ESRCH if it is gone. */
#ifndef MTRACE_OS_PROCESS_PROC_H
#define MTRACE_OS_PROCESS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* Read the target's memory: bytes read (may be short) or -errno. */
ssize_t proc_memory_read(pid_t pid, uint64_t address, void *buffer, size_t size);

/* CLOCK_MONOTONIC now. */
uint64_t clock_now_ns(void);
uint64_t clock_epoch_ms(void); /* CLOCK_REALTIME, since 1970 */

#endif
