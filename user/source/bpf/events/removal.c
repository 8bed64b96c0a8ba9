/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/events/removal.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/process/proc.h"

#define REMOVE_TRIES 1000 /* while tasks are still exiting */
#define QUIET_TRIES  600  /* while others place probes */
#define GIVE_WAY     20   /* pause for this many removal times while others follow children */
#define MOST_TRACERS 3    /* with the events of more tracers, do not pause */

static const struct timespec remove_pause = {.tv_nsec = 10000000};
static const struct timespec quiet_pause = {.tv_sec = 1};

/* The number of users of an event, including our descriptor; 0 if unknown. */
static uint32_t event_users(const struct probe_events *events, int perf)
{
	uint64_t arguments[] = {(uint64_t)perf};
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments,
			    .ctx_size_in = sizeof(arguments));

	if (bpf_prog_test_run_opts(events->counter.program, &run) || run.retval)
		return 0;
	return *events->counter.users;
}

/* Tracers that place probes have priority. */
static int lock_when_quiet(const struct probe_events *events)
{
	int lock = tracefs_lock(events->directory, TRACEFS_PLACES, TRACEFS_ALONE);

	for (int i = 0; lock == -EWOULDBLOCK && i < QUIET_TRIES; i++) {
		nanosleep(&quiet_pause, NULL);
		lock = tracefs_lock(events->directory, TRACEFS_PLACES, TRACEFS_ALONE);
	}
	return lock;
}

static bool somebody_follows(const struct probe_events *events)
{
	int lock = tracefs_lock(events->directory, TRACEFS_FOLLOWS, TRACEFS_ALONE);

	if (lock >= 0)
		close(lock);
	return lock == -EWOULDBLOCK;
}

struct tracers {
	char last[EVENT_NAME_SIZE];
	unsigned int count;
};

/* The events of a tracer have their own group, and are consecutive in the list. */
static void count_tracer(void *ctx, const char *name)
{
	struct tracers *tracers = ctx;
	size_t length = strcspn(name, "/");

	if (strncmp(name, EVENT_GROUP_PREFIX, strlen(EVENT_GROUP_PREFIX)) ||
	    !strncmp(name, tracers->last, length + 1))
		return;
	snprintf(tracers->last, sizeof(tracers->last), "%s", name);
	tracers->count++;
}

static bool are_many(const struct probe_events *events)
{
	struct tracers tracers = {0};

	tracefs_each(events->directory, count_tracer, &tracers);
	return tracers.count > MOST_TRACERS;
}

/* Pauses for at least a moment, so that a waiting tracer gets the lock. */
static void give_way(const struct probe_events *events, uint64_t took_ns)
{
	uint64_t until = clock_now_ns() + (are_many(events) ? 0 : GIVE_WAY * took_ns);

	do {
		nanosleep(&remove_pause, NULL);
	} while (clock_now_ns() < until && somebody_follows(events));
}

/* Removes an event, and closes our descriptor, if that is its only user. */
static bool event_remove(const struct probe_events *events, const char *name, int perf)
{
	int lock = lock_when_quiet(events);
	bool alone = lock >= 0 && event_users(events, perf) == 1;
	uint64_t began = clock_now_ns();

	if (alone) {
		close(perf);
		(void)tracefs_remove(events->directory, name);
	}
	if (lock >= 0)
		close(lock);
	give_way(events, clock_now_ns() - began);
	return alone;
}

/* Forks a background process without a parent. Returns true in it, false in the caller, -1 on
 * failure. */
static int fork_behind(void)
{
	pid_t pid = fork();

	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (pid)
		return pid < 0 ? -1 : false;
	if (fork())
		_exit(0);
	setsid();
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
	return true;
}

/*
 * Events left by others.
 */

/* Returns true if the event was left by a tracer that is gone. Its pid may have been reused, even
 * by us. */
static bool is_stale(const struct probe_events *events, const char *name)
{
	long owner;

	if (strncmp(name, EVENT_GROUP_PREFIX, strlen(EVENT_GROUP_PREFIX)))
		return false;
	owner = strtol(name + strlen(EVENT_GROUP_PREFIX), NULL, 10);
	return owner > 0 &&
	       (owner == events->event_holder.pid || (kill((pid_t)owner, 0) && errno == ESRCH));
}

static void remove_if_stale(void *ctx, const char *name)
{
	const struct probe_events *events = ctx;
	int id = is_stale(events, name) ? tracefs_event_id(events->directory, name) : -ENOENT;
	int perf = id < 0 ? id : tracefs_event_open(id, events->event_holder.pid);

	if (perf >= 0 && !event_remove(events, name, perf))
		close(perf);
}

struct stale_search {
	const struct probe_events *events;
	bool found;
};

static void find_stale(void *ctx, const char *name)
{
	struct stale_search *search = ctx;

	search->found |= is_stale(search->events, name);
}

/* Uses its own event holder: the tracer may wait for the other one. */
static _Noreturn void remove_stale(const struct probe_events *events)
{
	struct probe_events own = *events;

	close(events->event_holder.lifeline);
	if (probe_event_holder_start(&own.event_holder))
		_exit(1);
	tracefs_each(own.directory, remove_if_stale, &own);
	_exit(0);
}

void removal_of_stale(const struct probe_events *events)
{
	struct stale_search search = {.events = events};

	tracefs_each(events->directory, find_stale, &search);
	if (search.found && fork_behind() == true)
		remove_stale(events);
}

/*
 * Our events.
 */

/* Skips events that were never opened. Returns how many are left. */
static size_t remove_round(struct probe_events *events)
{
	struct probe_event *event;
	size_t left = 0;

	vec_each (event, &events->items) {
		if (event->perf < 0)
			continue;
		if (event_remove(events, event->name, event->perf))
			event->perf = -1;
		else
			left++;
	}
	return left;
}

/* Slow: inherited copies only go away with their tasks. The next tracer removes what is left in the
 * end. */
static void remove_all(struct probe_events *events)
{
	struct probe_event *event;

	vec_each (event, &events->items) {
		if (event->link >= 0)
			close(event->link);
		if (event->perf < 0)
			(void)tracefs_remove(events->directory, event->name);
	}
	for (int i = 0; i < REMOVE_TRIES && remove_round(events); i++)
		;
}

static void release_all(const struct probe_events *events)
{
	const struct probe_event *event;

	vec_each (event, &events->items) {
		close(event->link);
		close(event->perf);
	}
}

/* Waits until the tracer has closed the events. */
static _Noreturn void remove_behind(struct probe_events *events, const int gate[2])
{
	char byte;

	close(gate[1]);
	while (read(gate[0], &byte, 1) < 0 && errno == EINTR)
		;
	remove_all(events);
	_exit(0);
}

static void release_behind(struct probe_events *events)
{
	int gate[2], behind;

	if (pipe2(gate, O_CLOEXEC)) {
		remove_all(events);
		return;
	}
	behind = fork_behind();
	if (behind == true)
		remove_behind(events, gate);
	if (behind < 0)
		remove_all(events);
	else
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

void removal_of_all(struct probe_events *events)
{
	bool behind = is_any_open(events);

	if (behind)
		release_behind(events);
	else
		remove_all(events);
	close(events->event_holder.lifeline);
	if (!behind)
		waitpid(events->event_holder.pid, NULL, 0);
}
