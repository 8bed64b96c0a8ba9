/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/probe_events.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map64.h"
#include "bpf/abi.h"

#define GROUP_PREFIX "mtrace_bpf_"

#define REMOVE_TRIES    1000 /* while tasks are still ending */
#define REMOVE_PAUSE_NS 10000000

/*
 * Where two tasks have events of the same origin, the kernel may hand each the other's when it
 * switches between them, and with the end of one the events of the other are gone: its breakpoints
 * too, since those go by the task that an event was opened for. Events that are read with each
 * sample are kept apart (kernel/events/core.c: nr_no_switch_fast; Linux 6.12, before which there is
 * EINVAL for them).
 */
static int perf_open_once(int id, pid_t tid)
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

/* Not before it is needed: what we launch would have it too. */
static bool more_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

static int perf_open(int id, pid_t tid)
{
	int fd = perf_open_once(id, tid);

	return fd == -EMFILE && more_descriptors() ? perf_open_once(id, tid) : fd;
}

/*
 * Removal.
 */

/* How many have the event open, a descriptor of ours among them; 0 if that cannot be told. */
static uint32_t event_users(const struct probe_events *events, int perf)
{
	uint64_t arguments[] = {(uint64_t)perf};
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments,
			    .ctx_size_in = sizeof(arguments));

	if (bpf_prog_test_run_opts(events->counter.program, &run) || run.retval)
		return 0;
	return *events->counter.users;
}

/* If the descriptor is the only one: it is closed then. */
static bool event_remove(const struct probe_events *events, const char *name, int perf)
{
	int lock = tracefs_lock(events->directory);
	bool alone = lock >= 0 && event_users(events, perf) == 1;

	if (alone) {
		close(perf);
		(void)tracefs_remove(events->directory, name);
	}
	if (lock >= 0)
		close(lock);
	return alone;
}

/* Has a tracer that is gone left it? Its number may be another process's by now, or ours. */
static bool is_stale(const struct probe_events *events, const char *name)
{
	long owner;

	if (strncmp(name, GROUP_PREFIX, strlen(GROUP_PREFIX)))
		return false;
	owner = strtol(name + strlen(GROUP_PREFIX), NULL, 10);
	return owner > 0 && (owner == events->anchor || (kill((pid_t)owner, 0) && errno == ESRCH));
}

static void remove_stale(void *ctx, const char *name)
{
	const struct probe_events *events = ctx;
	int id = is_stale(events, name) ? tracefs_event_id(events->directory, name) : -ENOENT;
	int perf = id < 0 ? id : perf_open(id, events->anchor);

	if (perf >= 0 && !event_remove(events, name, perf))
		close(perf);
}

/*
 * The anchor. It maps what others map, and so gets breakpoints; but it calls nothing.
 */

static _Noreturn void anchor_main(int lifeline)
{
	char byte;

	setsid();
	if (lifeline > 0)
		close_range(0, (unsigned int)lifeline - 1, 0);
	close_range((unsigned int)lifeline + 1, ~0U, 0);
	while (read(lifeline, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

static int anchor_start(struct probe_events *events)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	events->anchor = fork();
	if (!events->anchor) {
		close(ends[1]);
		anchor_main(ends[0]);
	}
	close(ends[0]);
	events->lifeline = ends[1];
	if (events->anchor > 0)
		return 0;
	close(ends[1]);
	return -EAGAIN;
}

int probe_events_open(struct probe_events *events, struct event_counter counter)
{
	int err;

	*events = (struct probe_events){.counter = counter};
	events->directory = tracefs_open();
	if (events->directory < 0)
		return events->directory;
	err = anchor_start(events);
	if (err) {
		close(events->directory);
		return err;
	}
	events->open = true;
	tracefs_each(events->directory, remove_stale, events);
	return 0;
}

/*
 * Places.
 */

/* Unlike all that anybody with the same number may have left. */
static void event_name(const struct probe_events *events, char name[EVENT_NAME_SIZE])
{
	static uint64_t began;
	struct timespec now;

	if (!began) {
		clock_gettime(CLOCK_REALTIME, &now);
		began = (uint64_t)now.tv_sec;
	}
	snprintf(name, EVENT_NAME_SIZE, GROUP_PREFIX "%d_%llx/e%zu", (int)events->anchor,
		 (unsigned long long)began, events->items.count);
}

static int event_new(struct probe_events *events, const struct probe_event *like,
		     uint32_t *ret_index)
{
	struct probe_event event = *like;

	event.id = event.perf = event.link = -1;
	event.place_count = 0;
	event.full = false;
	event_name(events, event.name);
	if (vec_push(&events->items, event))
		return -ENOMEM;
	*ret_index = (uint32_t)events->items.count - 1;
	return 0;
}

/* An event like that one that may get more places. */
static int event_get(struct probe_events *events, const struct probe_event *like,
		     uint32_t *ret_index)
{
	for (size_t i = events->items.count; i--;) {
		const struct probe_event *event = &events->items.items[i];

		if (event->full || event->program != like->program ||
		    event->cookie != like->cookie || event->at_return != like->at_return)
			continue;
		*ret_index = (uint32_t)i;
		return 0;
	}
	return event_new(events, like, ret_index);
}

/* -EEXIST: the kernel knows the file by another name too. */
static int place_define(struct probe_events *events, struct probe_place *place)
{
	struct probe_event *event = &events->items.items[place->event];
	int err = tracefs_add(events->directory, event->name, place->path, place->offset,
			      event->at_return,
			      event->cookie == COOKIE_OF_PLACE ? &place->cookie : NULL);

	if (err)
		return err == -EEXIST ? 0 : err;
	if (!event->place_count)
		event->id = tracefs_event_id(events->directory, event->name);
	event->place_count++;
	return event->id < 0 ? event->id : 0;
}

static const struct probe_place *place_find(const struct probe_events *events,
					    const struct probe_place *wanted)
{
	const struct probe_place *place;

	vec_each (place, &events->places)
		if (place->offset == wanted->offset && place->inode == wanted->inode &&
		    place->device == wanted->device && place->program == wanted->program)
			return place;
	return NULL;
}

static int place_get(struct probe_events *events, struct probe_place *wanted,
		     const struct probe_event *like, uint32_t *ret_event)
{
	const struct probe_place *place = place_find(events, wanted);
	int err;

	if (place) {
		*ret_event = place->event;
		return 0;
	}
	err = event_get(events, like, &wanted->event);
	if (!err)
		err = place_define(events, wanted);
	if (!err)
		err = vec_push(&events->places, *wanted);
	*ret_event = wanted->event;
	return err;
}

static bool is_granted(const struct probe_grant *grant, uint32_t event)
{
	for (; grant; grant = grant->below)
		for (size_t i = 0; i < grant->events.count; i++)
			if (grant->events.items[i] == event)
				return true;
	return false;
}

/* Once, in its place by rank. */
static int want(const struct probe_events *events, struct probe_links *links, uint32_t event)
{
	unsigned int rank = events->items.items[event].rank;
	size_t place = links->wanted.count;

	if (is_granted(links->grant, event))
		return 0;
	for (size_t i = 0; i < links->wanted.count; i++)
		if (links->wanted.items[i] == event)
			return 0;
	if (vec_push(&links->wanted, event))
		return -ENOMEM;
	for (; place && events->items.items[links->wanted.items[place - 1]].rank > rank; place--)
		links->wanted.items[place] = links->wanted.items[place - 1];
	links->wanted.items[place] = event;
	return 0;
}

/* A cookie that comes with the event costs less to be had. */
static bool is_frequent(enum api api)
{
	return api == API_MALLOC || api == API_CALLOC || api == API_REALLOC;
}

/* What the program of a request is told at each place: nothing; or its cookie, which for what is
 * called often comes with the event; or that the place has one. */
static uint64_t event_cookie(const struct probe_request *request, bool at_return, uint64_t cookie)
{
	if (!request->cookies || at_return)
		return 0;
	if (request->kind == PROBE_CALL && is_frequent(COOKIE_API(cookie)))
		return cookie;
	return COOKIE_OF_PLACE;
}

static int add_site(struct probe_events *events, struct probe_place *place,
		    const struct probe_event *like, struct probe_links *links)
{
	uint32_t event;
	int err = place_get(events, place, like, &event);

	return err ? err : want(events, links, event);
}

int probe_events_add(struct probe_events *events, int program, const struct probe_request *request,
		     bool at_return, struct probe_links *links)
{
	struct probe_event like = {
		.program = program,
		.at_return = at_return,
		.rank = 2 * (unsigned int)request->kind + !at_return,
	};
	struct stat file;
	int err = stat(request->path, &file) ? -errno : 0;

	for (size_t i = 0; !err && i < request->count; i++) {
		struct probe_place place = {
			.device = file.st_dev,
			.inode = file.st_ino,
			.offset = request->offsets[i],
			.cookie = request->cookies ? request->cookies[i] : 0,
			.path = request->path,
			.program = program,
		};

		like.cookie = event_cookie(request, at_return, place.cookie);
		err = add_site(events, &place, &like, links);
	}
	return err;
}

/*
 * Grants.
 */

/* Open it for the anchor, and attach the program to it. */
static int event_start(const struct probe_events *events, struct probe_event *event)
{
	DECLARE_LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = event->cookie);
	int perf;

	if (event->perf >= 0)
		return 0;
	event->full = true;
	perf = perf_open(event->id, events->anchor);
	if (perf < 0)
		return perf;
	event->link = bpf_link_create(event->program, perf, BPF_PERF_EVENT, &options);
	if (event->link < 0) {
		close(perf);
		return -errno;
	}
	event->perf = perf;
	return 0;
}

/* Does the kernel refuse a breakpoint at that instruction (524 is its ENOTSUPP), rather than all of
 * them to us? */
static bool is_of_place(int err)
{
	return err == -EINVAL || err == -EIO || err == -ENOEXEC || err == -EOPNOTSUPP ||
	       err == -524;
}

/*
 * The kernel refuses one of its places and does not say which: each gets an event of its own. One
 * that cannot be had alone either is left out; who looks for its breakpoint will miss it
 * (probes_verify).
 */
static int divide(struct probe_events *events, struct probe_links *links, uint32_t event)
{
	int err = 0;

	if (events->items.items[event].place_count < 2)
		return 0;
	for (size_t i = 0; !err && i < events->places.count; i++) {
		struct probe_place *place = &events->places.items[i];

		if (place->event != event)
			continue;
		err = event_new(events, &events->items.items[event], &place->event);
		if (!err)
			err = place_define(events, place);
		if (!err)
			err = vec_push(&links->wanted, place->event);
	}
	return err;
}

/* All that the links want and the grant has not yet, for one thread. */
static int grant_thread(struct probe_events *events, pid_t tid, struct probe_links *links,
			struct probe_grant *grant)
{
	size_t i = 0;

	while (i < links->wanted.count) {
		uint32_t index = links->wanted.items[i];
		struct probe_event *event = &events->items.items[index];
		int err = vec_reserve(&grant->fds, grant->fds.count + 1);
		int perf;

		if (!err)
			err = event_start(events, event);
		perf = err ? err : perf_open(event->id, tid);
		if (perf >= 0) {
			grant->fds.items[grant->fds.count++] = perf;
			i++;
			continue;
		}
		if (!is_of_place(perf))
			return perf;
		links->wanted.count--;
		memmove(&links->wanted.items[i], &links->wanted.items[i + 1],
			(links->wanted.count - i) * sizeof(*links->wanted.items));
		err = divide(events, links, index);
		if (err)
			return err;
	}
	return 0;
}

/* One look at the list of threads. Returns how many were new, or -errno. */
static int grant_new_threads(struct probe_events *events, pid_t pid, struct probe_links *links,
			     struct probe_grant *grant, struct map64 *done)
{
	char path[32];
	DIR *tasks;
	int added = 0, err = 0;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		return -ESRCH;
	while (!err && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (!tid || map64_get(done, (uint64_t)tid) != MAP64_NONE)
			continue;
		err = grant_thread(events, tid, links, grant);
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
int probe_events_grant(struct probe_events *events, pid_t pid, struct probe_links *links)
{
	struct probe_grant *grant = calloc(1, sizeof(*grant));
	struct map64 done = {0};
	int added;

	if (!grant)
		return -ENOMEM;
	*grant = (struct probe_grant){.users = 1, .below = links->grant};
	links->grant = grant;
	do {
		added = grant_new_threads(events, pid, links, grant, &done);
	} while (added > 0);
	map64_free(&done);
	if (!added && vec_append(&grant->events, links->wanted.items, links->wanted.count))
		added = -ENOMEM;
	links->wanted.count = 0;
	return added;
}

void probe_grant_inherit(struct probe_links *child, const struct probe_links *parent)
{
	child->grant = parent->grant;
	if (child->grant)
		child->grant->users++;
}

/* Returns last, as they came first. */
static void reverse(int *fds, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		int fd = fds[i];

		fds[i] = fds[count - 1 - i];
		fds[count - 1 - i] = fd;
	}
}

void probe_grant_drop(struct probe_grant *grant, const struct heir *heir)
{
	while (grant && !--grant->users) {
		struct probe_grant *below = grant->below;

		reverse(grant->fds.items, grant->fds.count);
		heir_close(heir, grant->fds.items, grant->fds.count, true);
		vec_free(&grant->fds);
		vec_free(&grant->events);
		free(grant);
		grant = below;
	}
}

/*
 * The end.
 */

/* Of those that were never opened the kernel takes care. Returns how many are left. */
static size_t remove_round(struct probe_events *events)
{
	size_t left = 0;

	for (size_t i = 0; i < events->items.count; i++) {
		struct probe_event *event = &events->items.items[i];

		if (event->perf < 0)
			continue;
		if (event_remove(events, event->name, event->perf))
			event->perf = -1;
		else
			left++;
	}
	return left;
}

/* Slow. What is inherited goes with the tasks that have it. What is left after all is for the next
 * tracer. */
static void remove_all(struct probe_events *events)
{
	const struct timespec pause = {.tv_nsec = REMOVE_PAUSE_NS};
	struct probe_event *event;

	vec_each (event, &events->items) {
		if (event->link >= 0)
			close(event->link);
		if (event->perf < 0)
			(void)tracefs_remove(events->directory, event->name);
	}
	for (int i = 0; i < REMOVE_TRIES && remove_round(events); i++)
		nanosleep(&pause, NULL);
}

static void release_all(const struct probe_events *events)
{
	const struct probe_event *event;

	vec_each (event, &events->items) {
		close(event->link);
		close(event->perf);
	}
}

/* Nobody waits for this process, and it has nothing of ours open. */
static _Noreturn void remove_behind(struct probe_events *events, int gate)
{
	char byte;

	if (fork())
		_exit(0);
	setsid();
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
	while (read(gate, &byte, 1) < 0 && errno == EINTR)
		;
	remove_all(events);
	_exit(0);
}

/* Whoever closes an event last has to wait for the kernel: it shall not be us. */
static void release_behind(struct probe_events *events)
{
	int gate[2];
	pid_t pid = pipe2(gate, O_CLOEXEC) ? -1 : fork();

	if (!pid) {
		close(gate[1]);
		remove_behind(events, gate[0]);
	}
	if (pid < 0) {
		remove_all(events);
		return;
	}
	waitpid(pid, NULL, 0);
	release_all(events);
	close(gate[0]);
	close(gate[1]);
}

static bool is_any_open(const struct probe_events *events)
{
	const struct probe_event *event;

	vec_each (event, &events->items)
		if (event->perf >= 0)
			return true;
	return false;
}

void probe_events_close(struct probe_events *events)
{
	bool behind = is_any_open(events);

	if (!events->open)
		return;
	if (behind)
		release_behind(events);
	else
		remove_all(events);
	close(events->lifeline);
	if (!behind)
		waitpid(events->anchor, NULL, 0);
	vec_free(&events->items);
	vec_free(&events->places);
	close(events->directory);
	*events = (struct probe_events){0};
}
