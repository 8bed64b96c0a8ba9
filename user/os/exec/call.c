/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/exec/call.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vec.h"
#include "os/file/regular.h"
#include "os/process/proc.h"
#include "os/process/procfs.h"
#include "os/process/rights.h"

#define ENVIRONMENT_MAX 4096 /* number of variables that are examined */
#define VARIABLE_MAX    8192 /* maximum length of one, in bytes */
#define STRING_STEP     256

static const char *const variables[EXEC_VARIABLES] = {"LD_PRELOAD=", "LD_LIBRARY_PATH="};

/* Reading memory of the process. */

/* Reads a string. Returns its length, or -errno if it does not end within size bytes. Never reads
 * across a page boundary, because the next page may not be mapped. */
static ssize_t string_read(pid_t pid, uint64_t address, char *text, size_t size)
{
	size_t used = 0;

	while (used < size) {
		size_t step = STRING_STEP - (address + used) % STRING_STEP;
		ssize_t got = proc_memory_read(pid, address + used, text + used,
					       step < size - used ? step : size - used);
		const char *end;

		if (got <= 0)
			return got ? got : -EFAULT;
		end = memchr(text + used, '\0', (size_t)got);
		if (end)
			return end - text;
		used += (size_t)got;
	}
	return -ENAMETOOLONG;
}

static int variable_take(struct exec_call *call, size_t *count, const char *text)
{
	for (size_t i = 0; *count < EXEC_VARIABLES && i < EXEC_VARIABLES; i++) {
		if (strncmp(text, variables[i], strlen(variables[i])))
			continue;
		call->environment[*count] = strdup(text);
		if (!call->environment[*count])
			return -ENOMEM;
		(*count)++;
	}
	return 0;
}

static int environment_read(pid_t pid, uint64_t address, struct exec_call *call)
{
	static const size_t word = sizeof(uint64_t);
	char text[VARIABLE_MAX];
	size_t count = 0;
	int err = 0;

	for (size_t i = 0; !err && i < ENVIRONMENT_MAX; i++) {
		uint64_t pointer = 0;
		ssize_t got = proc_memory_read(pid, address + i * word, &pointer, word);

		if (got != (ssize_t)word || !pointer)
			break;
		/* Read only the first bytes: they rule out most variables. */
		got = proc_memory_read(pid, pointer, text, 3);
		if (got == 3 && !strncmp(text, "LD_", 3) &&
		    string_read(pid, pointer, text, sizeof(text)) > 0)
			err = variable_take(call, &count, text);
	}
	return err;
}

/* Reading the arguments of the system call. */

struct arguments {
	int directory; /* the directory argument of execveat */
	uint64_t path, environment;
};

static bool arguments_parse(const char *text, struct arguments *ret)
{
	unsigned long long words[6];
	long number;

	if (sscanf(text, "%ld %llx %llx %llx %llx", &number, &words[0], &words[1], &words[2],
		   &words[3]) != 5)
		return false;
	if (number == SYS_execve)
		*ret = (struct arguments){AT_FDCWD, words[0], words[2]};
	else if (number == SYS_execveat)
		*ret = (struct arguments){(int)words[0], words[1], words[3]};
	else
		return false;
	return true;
}

static bool thread_arguments(pid_t pid, pid_t tid, struct arguments *ret)
{
	char name[64], text[256];
	ssize_t got;
	int fd;

	snprintf(name, sizeof(name), "task/%d/syscall", (int)tid);
	fd = procfs_open(pid, name);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return arguments_parse(text, ret);
}

/* Uses the first thread that is in execve: if several threads of a process call it, the others
 * wait. */
static int process_arguments(pid_t pid, struct arguments *ret)
{
	struct proc_threads threads;
	bool found = false;
	const pid_t *tid;
	int err = proc_threads_read(pid, &threads);

	if (err)
		return err;
	vec_each (tid, &threads)
		found = found || thread_arguments(pid, *tid, ret);
	vec_free(&threads);
	return found ? 0 : -ENOENT;
}

int exec_call_read(pid_t pid, struct exec_call *ret_call)
{
	struct arguments arguments;
	struct exec_call call = {.path = ""};
	int err = process_arguments(pid, &arguments);

	if (err)
		return err;
	/* A path relative to a directory descriptor of the process would have to be resolved from
	 * there. */
	if (string_read(pid, arguments.path, call.path, sizeof(call.path)) <= 0 ||
	    (arguments.directory != AT_FDCWD && call.path[0] != '/'))
		call.path[0] = '\0';
	err = environment_read(pid, arguments.environment, &call);
	if (err)
		exec_call_free(&call);
	else
		*ret_call = call;
	return err;
}

void exec_call_free(struct exec_call *call)
{
	for (size_t i = 0; i < EXEC_VARIABLES; i++)
		free(call->environment[i]);
	*call = (struct exec_call){0};
}

/*
 * Finding the files that it will map. Paths are resolved as the process sees them: a thread may
 * have a root, a current directory and a mount namespace of its own, so a helper thread switches to
 * those of the process, and to its rights, and searches there.
 */

struct call_search {
	const struct exec_call *call;
	const struct elf_dynamic_reader *reader;
	struct exec_files found;
	struct rights rights;
	int root, directory, mounts; /* descriptors of the process's root, current directory and
					mount namespace */
	bool elsewhere;              /* the root or mount namespace differs from ours */
	int err;
};

static int proc_open(pid_t pid, const char *name, int flags)
{
	char path[PROCFS_PATH_SIZE];

	procfs_path(path, pid, name);
	return open(path, flags | O_CLOEXEC);
}

static bool is_same(int one, const char *other)
{
	struct stat first, second;

	return !fstat(one, &first) && !stat(other, &second) && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

/* For the calling thread only. The rights come last: they do not suffice for the rest. */
static int become_like_process(const struct call_search *search, struct rights_saved **ret_saved)
{
	if (unshare(CLONE_FS))
		return -errno;
	if (search->elsewhere &&
	    (setns(search->mounts, CLONE_NEWNS) || fchdir(search->root) || chroot(".")))
		return -errno;
	return fchdir(search->directory) ? -errno : rights_take(&search->rights, ret_saved);
}

/* Moves the paths of the files that can be opened. */
static int open_files(struct call_search *search, struct needed *needed)
{
	struct exec_files *found = &search->found;

	found->items = calloc(EXEC_FILES_MAX, sizeof(*found->items));
	if (!found->items)
		return -ENOMEM;
	for (size_t i = 0; i < needed->count && found->count < EXEC_FILES_MAX; i++) {
		struct exec_file file = {file_open_regular(needed->paths[i], NULL),
					 needed->paths[i]};

		if (file.fd < 0)
			continue;
		needed->paths[i] = NULL;
		found->items[found->count++] = file;
	}
	return 0;
}

static void *search_as_process(void *argument)
{
	struct call_search *search = argument;
	struct rights_saved *saved = NULL;
	struct needed needed = {0};

	search->err = become_like_process(search, &saved);
	if (!search->err)
		search->err = needed_find(search->call->path, search->call->environment,
					  search->reader, &needed, NULL);
	if (!search->err)
		search->err = open_files(search, &needed);
	needed_free(&needed);
	rights_restore(saved);
	return NULL;
}

static int search_run(struct call_search *search)
{
	pthread_t thread;
	int err = -pthread_create(&thread, NULL, search_as_process, search);

	if (err)
		return err;
	pthread_join(thread, NULL);
	return search->err;
}

static void search_close(struct call_search *search)
{
	const int fds[] = {search->root, search->directory, search->mounts};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	rights_free(&search->rights);
}

int exec_call_open_files(pid_t pid, const struct exec_call *call,
			 const struct elf_dynamic_reader *reader, struct exec_files *ret_files)
{
	struct call_search search = {
		.call = call,
		.reader = reader,
		.root = proc_open(pid, "root", O_PATH | O_DIRECTORY),
		.directory = proc_open(pid, "cwd", O_PATH | O_DIRECTORY),
		.mounts = proc_open(pid, "ns/mnt", O_RDONLY),
	};
	int err = rights_of_process(pid, &search.rights);

	search.elsewhere =
		!is_same(search.mounts, "/proc/self/ns/mnt") || !is_same(search.root, "/");
	if (!err && (search.root < 0 || search.directory < 0 || search.mounts < 0))
		err = -ESRCH;
	if (!err)
		err = search_run(&search);
	search_close(&search);
	if (err)
		exec_files_free(&search.found);
	else
		*ret_files = search.found;
	return err;
}

void exec_files_free(struct exec_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (files->items[i].fd >= 0)
			close(files->items[i].fd);
		free(files->items[i].path);
	}
	free(files->items);
	*files = (struct exec_files){0};
}
