/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/events/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/file/descriptors.h"

/* Creates a private mount: tracefs may not be mounted here. */
static int mount_privately(void)
{
	int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), directory = -1;

	if (context < 0)
		return -1;
	if (!syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		directory = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	close(context);
	return directory;
}

int tracefs_open(void)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	int directory = mount_privately();

	for (size_t i = 0; directory < 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		directory = open(places[i], O_DIRECTORY | O_CLOEXEC);
		if (directory >= 0 && faccessat(directory, "uprobe_events", F_OK, 0)) {
			close(directory);
			directory = -1;
		}
	}
	return directory < 0 ? -EOPNOTSUPP : directory;
}

static int write_line(int directory, const char *line)
{
	int fd = openat(directory, "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, line, strlen(line)) < 0)
		err = -errno;
	close(fd);
	return err;
}

int tracefs_add(int directory, const char *event, const char *path, uint64_t offset, bool at_return,
		const uint64_t *value)
{
	char line[EVENT_NAME_SIZE + PATH_MAX + 64], argument[32] = "";

	if (value)
		snprintf(argument, sizeof(argument), " value=\\%#llx", (unsigned long long)*value);
	snprintf(line, sizeof(line), "%c:%s %s:%#llx%s", at_return ? 'r' : 'p', event, path,
		 (unsigned long long)offset, argument);
	return write_line(directory, line);
}

int tracefs_remove(int directory, const char *event)
{
	char line[EVENT_NAME_SIZE + 2];

	snprintf(line, sizeof(line), "-:%s", event);
	return write_line(directory, line);
}

int tracefs_event_id(int directory, const char *event)
{
	char path[EVENT_NAME_SIZE + 16], text[16] = "";
	int fd;

	snprintf(path, sizeof(path), "events/%s/id", event);
	fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return text[0] ? atoi(text) : -EIO;
}

/*
 * If two tasks have events of the same origin, the kernel may swap them when it switches between
 * the tasks. When one task exits, the other's events are gone, including its breakpoints, which
 * depend on the task that an event was opened for. Events that are read with each sample are not
 * swapped (kernel/events/core.c: nr_no_switch_fast; Linux 6.12, older kernels return EINVAL for
 * them).
 */
static int event_open_once(int id, pid_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = (uint64_t)id,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID,
		.inherit = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int tracefs_event_open(int id, pid_t tid)
{
	int fd = event_open_once(id, tid);

	return fd == -EMFILE && descriptors_raise() ? event_open_once(id, tid) : fd;
}

/* Lines look like "p:group/event /usr/lib/…:0x…". */
void tracefs_each(int directory, void (*tell)(void *ctx, const char *event), void *ctx)
{
	int fd = openat(directory, "uprobe_events", O_RDONLY | O_CLOEXEC);
	FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL, event[EVENT_NAME_SIZE];
	size_t size = 0;

	while (list && getline(&line, &size, list) > 0)
		if (strlen(line) > 2 && sscanf(line + 2, "%63[^ \n]", event) == 1)
			tell(ctx, event);
	free(line);
	if (list)
		fclose(list);
}

int tracefs_lock(int directory, enum tracefs_purpose purpose, enum tracefs_lock lock)
{
	static const char *const files[] = {
		[TRACEFS_PLACES] = ".",
		[TRACEFS_FOLLOWS] = "uprobe_events",
	};
	static const int operations[] = {
		[TRACEFS_SHARED] = LOCK_SH,
		[TRACEFS_ALONE] = LOCK_EX | LOCK_NB,
	};
	int fd = openat(directory, files[purpose], O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	do {
		err = flock(fd, operations[lock]) ? -errno : 0;
	} while (err == -EINTR);
	if (!err)
		return fd;
	close(fd);
	return err;
}
