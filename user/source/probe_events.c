/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/probe_events.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map64.h"
#include "base/vec.h"

#define GROUP_PREFIX "mtrace_bpf_"
#define NAME_SIZE    64

/* A mount of our own that nobody else sees: tracefs may not be mounted where we are. */
static int tracefs_mount(void)
{
	int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), directory = -1;

	if (context < 0)
		return -1;
	if (!syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		directory = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	close(context);
	return directory;
}

static int tracefs_open(void)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	int directory = tracefs_mount();

	for (size_t i = 0; directory < 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		directory = open(places[i], O_DIRECTORY | O_CLOEXEC);
		if (directory >= 0 && faccessat(directory, "uprobe_events", F_OK, 0)) {
			close(directory);
			directory = -1;
		}
	}
	return directory < 0 ? -EOPNOTSUPP : directory;
}

static int events_write(const struct probe_events *events, const char *line)
{
	int fd = openat(events->directory, "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, line, strlen(line)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* "p:mtrace_bpf_123/e5 /usr/lib/…": what a process 123 that is gone has left? */
static bool is_stale(const char *line, char ret_name[NAME_SIZE])
{
	long pid;

	if (strlen(line) < 2 || sscanf(line + 2, "%63[^ \n]", ret_name) != 1 ||
	    strncmp(ret_name, GROUP_PREFIX, strlen(GROUP_PREFIX)))
		return false;
	pid = strtol(ret_name + strlen(GROUP_PREFIX), NULL, 10);
	return pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH;
}

static void remove_stale(const struct probe_events *events)
{
	int fd = openat(events->directory, "uprobe_events", O_RDONLY | O_CLOEXEC);
	FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL, name[NAME_SIZE], command[NAME_SIZE + 2];
	size_t size = 0;

	while (list && getline(&line, &size, list) > 0) {
		if (!is_stale(line, name))
			continue;
		snprintf(command, sizeof(command), "-:%s", name);
		(void)events_write(events, command);
	}
	free(line);
	if (list)
		fclose(list);
}

/* It maps what others map, and so gets breakpoints; but it calls nothing. */
static pid_t holder_start(void)
{
	pid_t pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	close_range(0, ~0U, 0);
	for (;;)
		pause();
}

int probe_events_open(struct probe_events *events)
{
	int directory = tracefs_open();
	pid_t holder;

	if (directory < 0)
		return directory;
	holder = holder_start();
	if (holder < 0) {
		close(directory);
		return holder;
	}
	*events = (struct probe_events){.open = true, .directory = directory, .holder = holder};
	remove_stale(events);
	return 0;
}

static void event_name(pid_t tracer, size_t index, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, GROUP_PREFIX "%d/e%zu", (int)tracer, index);
}

static int read_id(const struct probe_events *events, const char *name)
{
	char path[NAME_SIZE + 16], text[16] = "";
	int fd;

	snprintf(path, sizeof(path), "events/%s/id", name);
	fd = openat(events->directory, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return text[0] ? atoi(text) : -EIO;
}

/*
 * Where two tasks have events of the same origin, the kernel may hand each the other's when it
 * switches between them, and with the end of one the events of the other are gone: its breakpoints
 * too, since those go by the task that an event was opened for. Events that are read with each
 * sample are kept apart (kernel/events/core.c: nr_no_switch_fast; Linux 6.12, before which there is
 * EINVAL for them).
 */
static int event_open(const struct probe_event *event, pid_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = (uint64_t)event->id,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID,
		.inherit = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Open it for the holder, and attach the program to it. */
static int event_start(struct probe_event *event, pid_t holder, uint64_t cookie)
{
	DECLARE_LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = cookie);

	event->perf = event_open(event, holder);
	if (event->perf < 0)
		return event->perf;
	event->link = bpf_link_create(event->program, event->perf, BPF_PERF_EVENT, &options);
	return event->link < 0 ? -errno : 0;
}

static int event_define(struct probe_events *events, const char *path, struct probe_event *event,
			uint64_t cookie)
{
	char name[NAME_SIZE], line[NAME_SIZE + PATH_MAX + 32];
	int err;

	if (vec_reserve_bytes((void **)&events->items, &events->capacity, events->count + 1,
			      sizeof(*events->items)))
		return -ENOMEM;
	event_name(getpid(), events->count, name);
	snprintf(line, sizeof(line), "%c:%s %s:%#llx", event->at_return ? 'r' : 'p', name, path,
		 (unsigned long long)event->offset);
	err = events_write(events, line);
	if (err)
		return err;
	event->perf = event->link = -1;
	event->id = read_id(events, name);
	err = event->id < 0 ? event->id : event_start(event, events->holder, cookie);
	event->failure = err;
	events->items[events->count++] = *event;
	return err;
}

static struct probe_event *event_find(const struct probe_events *events,
				      const struct probe_event *wanted)
{
	for (size_t i = 0; i < events->count; i++) {
		struct probe_event *event = &events->items[i];

		if (event->offset == wanted->offset && event->inode == wanted->inode &&
		    event->device == wanted->device && event->program == wanted->program)
			return event;
	}
	return NULL;
}

static int event_get(struct probe_events *events, const char *path, struct probe_event *wanted,
		     uint64_t cookie, const struct probe_event **ret_event)
{
	struct probe_event *event = event_find(events, wanted);
	int err = event ? event->failure : event_define(events, path, wanted, cookie);

	if (err)
		return err;
	*ret_event = event ? event : &events->items[events->count - 1];
	return 0;
}

static int event_add(const struct probe_event *event, pid_t tid, struct probe_links *links)
{
	int perf;

	if (vec_reserve_bytes((void **)&links->fds, &links->fd_capacity, links->fd_count + 1,
			      sizeof(*links->fds)))
		return -ENOMEM;
	perf = event_open(event, tid);
	if (perf < 0)
		return perf;
	links->fds[links->fd_count++] = perf;
	return 0;
}

static int attach_thread(struct probe_events *events, int program,
			 const struct probe_request *request, const struct stat *file,
			 bool at_return, pid_t tid, struct probe_links *links)
{
	const struct probe_event *event;
	int err = 0;

	for (size_t i = 0; !err && i < request->count; i++) {
		struct probe_event wanted = {
			.device = file->st_dev,
			.inode = file->st_ino,
			.offset = request->offsets[i],
			.program = program,
			.at_return = at_return,
		};

		err = event_get(events, request->path, &wanted,
				request->cookies ? request->cookies[i] : 0, &event);
		if (!err)
			err = event_add(event, tid, links);
	}
	return err;
}

/* One look at the list of threads. Returns how many were new, or -errno. */
static int attach_new_threads(struct probe_events *events, int program,
			      const struct probe_request *request, const struct stat *file,
			      bool at_return, struct map64 *done, struct probe_links *links)
{
	char path[32];
	DIR *tasks;
	int added = 0, err = 0;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)request->pid);
	tasks = opendir(path);
	if (!tasks)
		return -ESRCH;
	while (!err && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (!tid || map64_get(done, (uint64_t)tid) != MAP64_NONE)
			continue;
		err = attach_thread(events, program, request, file, at_return, tid, links);
		if (err == -ESRCH) /* this thread has ended */
			err = 0;
		if (!err)
			err = map64_set(done, (uint64_t)tid, 1);
		added++;
	}
	closedir(tasks);
	return err ? err : added;
}

/* Threads that begin meanwhile inherit, but for those of threads that were not yet reached: look
 * until there are no new ones. */
int probe_events_attach(struct probe_events *events, int program,
			const struct probe_request *request, bool at_return,
			struct probe_links *links)
{
	struct map64 done = {0};
	struct stat file;
	int added;

	if (stat(request->path, &file))
		return -errno;
	do {
		added = attach_new_threads(events, program, request, &file, at_return, &done,
					   links);
	} while (added > 0);
	map64_free(&done);
	return added;
}

static void events_release(const struct probe_events *events)
{
	for (size_t i = 0; i < events->count; i++) {
		close(events->items[i].link);
		close(events->items[i].perf);
	}
}

/* Slow. Its group is that of the tracer that has defined them. */
static void events_remove(const struct probe_events *events, pid_t tracer)
{
	char name[NAME_SIZE], command[NAME_SIZE + 2];

	events_release(events);
	for (size_t i = 0; i < events->count; i++) {
		event_name(tracer, i, name);
		snprintf(command, sizeof(command), "-:%s", name);
		(void)events_write(events, command);
	}
}

/* Nobody waits for this process, and it has nothing of ours open. */
static _Noreturn void remove_behind(const struct probe_events *events, pid_t tracer, int gate)
{
	char byte;

	if (fork())
		_exit(0);
	setsid();
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
	while (read(gate, &byte, 1) < 0 && errno == EINTR)
		;
	events_remove(events, tracer);
	_exit(0);
}

/* Whoever closes an event last has to wait for the kernel: it shall not be us. */
static void release_behind(const struct probe_events *events)
{
	int gate[2];
	pid_t pid = pipe2(gate, O_CLOEXEC) ? -1 : fork(), tracer = getpid();

	if (!pid) {
		close(gate[1]);
		remove_behind(events, getppid(), gate[0]);
	}
	if (pid < 0) {
		events_remove(events, tracer);
		return;
	}
	waitpid(pid, NULL, 0);
	events_release(events);
	close(gate[0]);
	close(gate[1]);
}

void probe_events_close(struct probe_events *events)
{
	if (!events->open)
		return;
	if (events->count)
		release_behind(events);
	kill(events->holder, SIGKILL);
	waitpid(events->holder, NULL, 0);
	free(events->items);
	close(events->directory);
	*events = (struct probe_events){0};
}
