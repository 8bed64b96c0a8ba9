/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/process/proc.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "os/process/procfs.h"

#define PF_KTHREAD    0x00200000 /* include/linux/sched.h; stable, because ps(1) relies on it */
#define NS_PER_SECOND 1000000000ULL

/* Converts whole seconds and the rest separately, to avoid an overflow after some years of
 * uptime. */
static uint64_t ns_of_ticks(uint64_t ticks)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	return ticks / hz * NS_PER_SECOND + ticks % hz * NS_PER_SECOND / hz;
}

/*
 * Parses "pid (comm) state ppid …". comm may contain spaces, parentheses and newlines, but only
 * numbers follow it, so it ends at the last parenthesis. Fields as numbered in proc(5): 3 state, 4
 * ppid, 9 flags, 22 starttime.
 */
static int stat_parse(const char *text, struct proc_info *info)
{
	const char *open = strchr(text, '(');
	const char *close = strrchr(text, ')');
	uint64_t ticks;
	unsigned int flags;
	size_t length;
	int ppid;

	if (!open || !close || close < open)
		return -EINVAL;
	if (sscanf(close + 1,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%" SCNu64,
		   &info->state, &ppid, &flags, &ticks) != 4)
		return -EINVAL;
	length = (size_t)(close - open - 1);
	if (length >= sizeof(info->comm))
		length = sizeof(info->comm) - 1;
	memcpy(info->comm, open + 1, length);
	info->comm[length] = '\0';
	info->ppid = ppid;
	info->kernel_thread = flags & PF_KTHREAD;
	info->start_time_ns = ns_of_ticks(ticks);
	return 0;
}

static int info_read_stat(struct proc_info *info)
{
	char *text;
	size_t size;
	int err = procfs_read(info->pid, "stat", &text, &size);

	if (err)
		return err;
	err = stat_parse(text, info);
	free(text);
	return err;
}

static bool is_alive(pid_t tid)
{
	struct proc_info info = {.pid = tid};

	return !info_read_stat(&info) && info.state != 'Z' && info.state != 'X';
}

int proc_threads_read(pid_t pid, struct proc_threads *ret_threads)
{
	struct proc_threads threads = {0};
	char path[PROCFS_PATH_SIZE];
	struct dirent *entry;
	int err = 0;
	DIR *tasks;

	procfs_path(path, pid, "task");
	tasks = opendir(path);
	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (entry = readdir(tasks)))
		if (atoi(entry->d_name) > 0)
			err = vec_push(&threads, atoi(entry->d_name));
	closedir(tasks);
	if (err)
		vec_free(&threads);
	*ret_threads = threads;
	return err;
}

pid_t proc_living_thread(pid_t pid)
{
	struct proc_threads threads;
	pid_t living = 0;
	const pid_t *tid;

	if (is_alive(pid))
		return pid;
	if (proc_threads_read(pid, &threads))
		return 0;
	vec_each (tid, &threads)
		if (!living && is_alive(*tid))
			living = *tid;
	vec_free(&threads);
	return living;
}

/* Finds the number after "\nName:". This cannot match inside comm, because newlines in it are
 * escaped in this file. */
static bool status_number(const char *text, const char *name, long *ret_number)
{
	const char *found = strstr(text, name);

	return found && sscanf(found + strlen(name), "%ld", ret_number) == 1;
}

/* Parses "NSpid: 4711 12": the pid in each namespace, from ours inwards. */
static pid_t status_inner_pid(const char *text)
{
	static const char name[] = "\nNSpid:";
	const char *at = strstr(text, name);
	long number = 0;
	int count = 0, length;

	for (at = at ? at + strlen(name) : ""; sscanf(at, "%*[ \t]%ld%n", &number, &length) == 1;
	     at += length)
		count++;
	return count > 1 ? (pid_t)number : 0;
}

static int info_read_status(struct proc_info *info)
{
	long tgid, seccomp;
	char *text;
	size_t size;
	int err = procfs_read(info->pid, "status", &text, &size);

	if (err)
		return err;
	if (status_number(text, "\nTgid:", &tgid))
		info->tgid = (pid_t)tgid;
	else
		err = -EINVAL;
	/* Kernels without seccomp do not have this line. */
	info->seccomp = status_number(text, "\nSeccomp:", &seccomp) && seccomp > 0;
	info->inner_pid = status_inner_pid(text);
	free(text);
	return err;
}

/* If the first thread has exited, its exe and cmdline are those of a zombie, so use another
 * thread. */
static pid_t reader_of(const struct proc_info *info)
{
	pid_t living = info->state == 'Z' ? proc_living_thread(info->pid) : 0;

	return living ? living : info->pid;
}

static int info_read_exe(struct proc_info *info)
{
	int err = procfs_read_link(reader_of(info), "exe", &info->exe);

	if (err)
		return err == -ENOMEM ? err : 0;
	procfs_cut_deleted(info->exe);
	return 0;
}

/* Splits "a\0b\0c" (a final NUL is optional) to a vector of strings in a single allocation. */
static char **command_split(const char *text, size_t size)
{
	size_t count = 0;
	char **command;
	char *copy;

	for (size_t at = 0; at < size; at += strlen(text + at) + 1)
		count++;
	command = malloc((count + 1) * sizeof(*command) + size + 1);
	if (!command)
		return NULL;
	copy = (char *)(command + count + 1);
	memcpy(copy, text, size);
	copy[size] = '\0';
	for (size_t i = 0; i < count; i++) {
		command[i] = copy;
		copy += strlen(copy) + 1;
	}
	command[count] = NULL;
	return command;
}

/* A zombie, or a program that erased its arguments, has no command line; use comm instead. */
static int info_read_command(struct proc_info *info)
{
	char *text;
	size_t size;
	int err = procfs_read(reader_of(info), "cmdline", &text, &size);

	if (err)
		return err;
	if (!size && !info->kernel_thread)
		info->command = command_split(info->comm, strlen(info->comm) + 1);
	else
		info->command = command_split(text, size);
	free(text);
	return info->command ? 0 : -ENOMEM;
}

int proc_info_read(pid_t pid, struct proc_info *ret_info)
{
	static int (*const parts[])(struct proc_info *) = {info_read_stat, info_read_status,
							   info_read_exe, info_read_command};
	struct proc_info info = {.pid = pid};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int err = parts[i](&info);

		if (err) {
			proc_info_free(&info);
			return err;
		}
	}
	*ret_info = info;
	return 0;
}

void proc_info_free(struct proc_info *info)
{
	if (!info)
		return;
	free(info->exe);
	free(info->command);
	*info = (struct proc_info){0};
}

static ssize_t memory_read_file(pid_t pid, uint64_t address, void *buffer, size_t size)
{
	int fd = procfs_open(pid, "mem");
	ssize_t got;

	if (fd < 0)
		return fd;
	got = pread(fd, buffer, size, (off_t)address);
	if (got < 0)
		got = -errno;
	close(fd);
	return got;
}

ssize_t proc_memory_read(pid_t pid, uint64_t address, void *buffer, size_t size)
{
	struct iovec local = {.iov_base = buffer, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
	ssize_t got;

	/* The address does not fit in our own pointers: a 64-bit target of a 32-bit tracer. */
	if ((uintptr_t)address != address)
		return memory_read_file(pid, address, buffer, size);
	got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	if (got >= 0)
		return got;
	return errno == ENOSYS ? memory_read_file(pid, address, buffer, size) : -errno;
}

uint64_t clock_epoch_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t own_resident_bytes(void)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long long size, resident;
	bool read = statm && fscanf(statm, "%llu %llu", &size, &resident) == 2;

	if (statm)
		fclose(statm);
	return read ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
