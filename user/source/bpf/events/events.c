/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/events/events.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/map64.h"
#include "bpf/abi.h"
#include "source/bpf/events/removal.h"

int probe_events_open(struct probe_events *events, struct event_counter counter)
{
	int err;

	*events = (struct probe_events){.counter = counter, .placing = -1, .following = -1};
	events->directory = tracefs_open();
	if (events->directory < 0)
		return events->directory;
	err = probe_event_holder_start(&events->event_holder);
	if (err) {
		close(events->directory);
		return err;
	}
	events->open = true;
	removal_of_stale(events);
	events->following = tracefs_lock(events->directory, TRACEFS_FOLLOWS, TRACEFS_SHARED);
	return 0;
}

/*
 * Places.
 */

/* A name that differs from those left by an earlier process with the same pid. */
static void event_name(const struct probe_events *events, char name[EVENT_NAME_SIZE])
{
	static uint64_t began;
	struct timespec now;

	if (!began) {
		clock_gettime(CLOCK_REALTIME, &now);
		began = (uint64_t)now.tv_sec;
	}
	snprintf(name, EVENT_NAME_SIZE, EVENT_GROUP_PREFIX "%d_%llx/e%zu",
		 (int)events->event_holder.pid, (unsigned long long)began, events->items.count);
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

/* Returns an event like that one that can take more places. */
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

/* -EEXIST: the place exists under another name of the file. */
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

/* Adds the event once, ordered by rank. */
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

/* For frequent functions: the cookie of an event is cheaper to read. */
static bool is_frequent(enum api api)
{
	return api == API_MALLOC || api == API_CALLOC || api == API_REALLOC;
}

/* The cookie of an event: 0 if the program needs none, the cookie itself for frequent functions,
 * otherwise COOKIE_OF_PLACE. */
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

/* Also works without the lock, but slower. */
static void placing_begin(struct probe_events *events)
{
	if (events->placing < 0)
		events->placing = tracefs_lock(events->directory, TRACEFS_PLACES, TRACEFS_SHARED);
}

static void placing_end(struct probe_events *events)
{
	if (events->placing >= 0)
		close(events->placing);
	events->placing = -1;
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

	placing_begin(events);
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

/* Opens the event for the event holder, and attaches the program to it. */
static int event_start(const struct probe_events *events, struct probe_event *event)
{
	DECLARE_LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = event->cookie);
	int perf;

	if (event->perf >= 0)
		return 0;
	event->full = true;
	perf = tracefs_event_open(event->id, events->event_holder.pid);
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

/* Returns true if the kernel refuses a breakpoint at a particular instruction (524 is its
 * ENOTSUPP), rather than all of them. */
static bool is_of_place(int err)
{
	return err == -EINVAL || err == -EIO || err == -ENOEXEC || err == -EOPNOTSUPP ||
	       err == -524;
}

/*
 * The kernel refuses one of the event's places but does not say which, so each place gets its own
 * event. A place that is still refused is left out; the check for its breakpoint counts it
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

/* Opens the events that the links want, for one thread. */
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
		perf = err ? err : tracefs_event_open(event->id, tid);
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

/* One pass over the threads. Returns the number of new ones, or -errno. */
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
		if (err == -ESRCH) /* the thread has exited */
			err = 0;
		if (!err)
			err = map64_set(done, (uint64_t)tid, 1);
		added++;
	}
	closedir(tasks);
	return err ? err : added;
}

/* Threads created meanwhile inherit the events, except from threads that have none yet: repeat
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
	placing_begin(events);
	do {
		added = grant_new_threads(events, pid, links, grant, &done);
	} while (added > 0);
	placing_end(events);
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

/* Closes returns last, because they were opened first. */
static void reverse(int *fds, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		int fd = fds[i];

		fds[i] = fds[count - 1 - i];
		fds[count - 1 - i] = fd;
	}
}

void probe_grant_drop(struct probe_grant *grant, const struct probe_closer *probe_closer)
{
	while (grant && !--grant->users) {
		struct probe_grant *below = grant->below;

		reverse(grant->fds.items, grant->fds.count);
		probe_closer_close(probe_closer, grant->fds.items, grant->fds.count, true);
		vec_free(&grant->fds);
		vec_free(&grant->events);
		free(grant);
		grant = below;
	}
}

void probe_events_close(struct probe_events *events)
{
	if (!events->open)
		return;
	placing_end(events);
	if (events->following >= 0)
		close(events->following);
	removal_of_all(events);
	vec_free(&events->items);
	vec_free(&events->places);
	close(events->directory);
	*events = (struct probe_events){0};
}
