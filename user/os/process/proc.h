/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Information about a process, from /proc/PID. Functions that return int return 0 or -errno; -ESRCH
 * if the process has exited. */
#ifndef MTRACE_OS_PROCESS_PROC_H
#define MTRACE_OS_PROCESS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_info {
	pid_t pid;
	pid_t tgid; /* differs from pid if pid is a thread id */
	pid_t ppid;
	pid_t inner_pid;        /* its pid as it sees it, in a nested pid namespace; or 0 */
	uint64_t start_time_ns; /* since boot */
	char state;             /* as in /proc/PID/stat: R S D Z T … */
	bool kernel_thread;
	bool seccomp; /* a filter or strict mode is active */
	char comm[32];
	char *exe;      /* target of /proc/PID/exe, without " (deleted)"; NULL if unreadable */
	char **command; /* NULL-terminated; at least one entry for a user process */
};

/* A thread through which /proc shows the mappings and files of the process: the first one, or
 * another if the first has exited. Returns 0 if none is left. */
pid_t proc_living_thread(pid_t pid);

/* Thread ids, as /proc lists them. An all-zero list is empty; free it with vec_free. */
struct proc_threads {
	pid_t *items;
	size_t count;
	size_t capacity;
};

int proc_threads_read(pid_t pid, struct proc_threads *ret_threads);

/* Resident memory of this process, in bytes; 0 if unknown. */
uint64_t own_resident_bytes(void);

int proc_info_read(pid_t pid, struct proc_info *ret_info);
void proc_info_free(struct proc_info *info);

/* Reads memory of the process. Returns the number of bytes read (may be short) or -errno. */
ssize_t proc_memory_read(pid_t pid, uint64_t address, void *buffer, size_t size);

/* CLOCK_MONOTONIC, in nanoseconds. */
uint64_t clock_now_ns(void);
uint64_t clock_epoch_ms(void); /* CLOCK_REALTIME, in milliseconds since 1970 */

#endif
