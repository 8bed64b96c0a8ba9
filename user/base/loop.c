/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One epoll instance. A timer is a timerfd and a signal is a signalfd, so epoll_wait is the only
 * place where the program sleeps.
 *
 * Lifetime of a watch: epoll returns pointers to watches in batches, and a callback can remove a
 * watch whose pointer comes later in the same batch (or, if callbacks run the loop, in the batch of
 * an outer call). Therefore loop_remove only marks the watch dead and moves it to a list. Dead
 * watches are freed when no batch is being processed.
 */
#include "base/loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LOOP_BATCH    32
#define NS_PER_SECOND 1000000000ULL

struct loop_watch {
	const struct watch_kind *kind;
	int fd;
	int signal_number;
	bool dead;
	loop_callback *callback;
	void *ctx;
	struct loop_watch *next;
	struct loop_watch **link; /* the pointer that points to this watch */
};

struct loop {
	int epoll;
	int depth; /* number of nested loop_once calls */
	bool stopped;
	sigset_t original_mask;
	struct loop_watch *watches;
	struct loop_watch *dead;
};

/* What differs between the three kinds of watches. */
struct watch_kind {
	/* Converts epoll events to the callback's argument. Returns 0 if there is nothing to
	 * report. */
	uint32_t (*fetch)(const struct loop_watch *watch, uint32_t events);
	void (*close)(const struct loop *loop, const struct loop_watch *watch);
};

static uint32_t fd_fetch(const struct loop_watch *watch, uint32_t events)
{
	(void)watch;
	return events;
}

static void fd_close(const struct loop *loop, const struct loop_watch *watch)
{
	(void)loop;
	(void)watch;
}

static uint32_t timer_fetch(const struct loop_watch *watch, uint32_t events)
{
	uint64_t expirations;

	(void)events;
	if (read(watch->fd, &expirations, sizeof(expirations)) != sizeof(expirations))
		return 0;
	return expirations > UINT32_MAX ? UINT32_MAX : (uint32_t)expirations;
}

static void timer_close(const struct loop *loop, const struct loop_watch *watch)
{
	(void)loop;
	close(watch->fd);
}

static uint32_t signal_fetch(const struct loop_watch *watch, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	return read(watch->fd, &info, sizeof(info)) == sizeof(info) ? info.ssi_signo : 0;
}

static void signal_close(const struct loop *loop, const struct loop_watch *watch)
{
	sigset_t set;

	/* Discard pending signals: unblocking would deliver them at once, which could kill us. */
	while (signal_fetch(watch, 0))
		;
	close(watch->fd);
	if (sigismember(&loop->original_mask, watch->signal_number))
		return;
	sigemptyset(&set);
	sigaddset(&set, watch->signal_number);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static const struct watch_kind watch_fd = {fd_fetch, fd_close};
static const struct watch_kind watch_timer = {timer_fetch, timer_close};
static const struct watch_kind watch_signal = {signal_fetch, signal_close};

int loop_new(struct loop **ret_loop)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int err;

	if (!loop)
		return -ENOMEM;
	pthread_sigmask(SIG_BLOCK, NULL, &loop->original_mask);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0) {
		err = -errno;
		free(loop);
		return err;
	}
	*ret_loop = loop;
	return 0;
}

const sigset_t *loop_original_mask(const struct loop *loop)
{
	return &loop->original_mask;
}

static void watch_link(struct loop_watch *watch, struct loop_watch **list)
{
	watch->next = *list;
	watch->link = list;
	if (*list)
		(*list)->link = &watch->next;
	*list = watch;
}

static void watch_unlink(struct loop_watch *watch)
{
	*watch->link = watch->next;
	if (watch->next)
		watch->next->link = watch->link;
}

static void bury_dead(struct loop *loop)
{
	while (loop->dead) {
		struct loop_watch *watch = loop->dead;

		watch_unlink(watch);
		free(watch);
	}
}

static int loop_add(struct loop *loop, const struct loop_watch *proto, uint32_t events,
		    struct loop_watch **ret_watch)
{
	struct loop_watch *watch = malloc(sizeof(*watch));
	struct epoll_event event = {.events = events, .data.ptr = watch};
	int err;

	if (!watch)
		return -ENOMEM;
	*watch = *proto;
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, watch->fd, &event)) {
		err = -errno;
		free(watch);
		return err;
	}
	watch_link(watch, &loop->watches);
	if (ret_watch)
		*ret_watch = watch;
	return 0;
}

int loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_callback *callback, void *ctx,
		struct loop_watch **ret_watch)
{
	struct loop_watch proto = {.kind = &watch_fd, .fd = fd, .callback = callback, .ctx = ctx};

	return loop_add(loop, &proto, events, ret_watch);
}

static struct timespec timespec_of_ns(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SECOND),
				 .tv_nsec = (long)(ns % NS_PER_SECOND)};
}

static int timer_arm(int fd, uint64_t first_ns, uint64_t interval_ns)
{
	struct itimerspec spec = {
		.it_value = timespec_of_ns(first_ns ? first_ns : 1), /* 0 would disarm it */
		.it_interval = timespec_of_ns(interval_ns),
	};

	return timerfd_settime(fd, 0, &spec, NULL) ? -errno : 0;
}

int loop_add_timer(struct loop *loop, uint64_t first_ns, uint64_t interval_ns,
		   loop_callback *callback, void *ctx, struct loop_watch **ret_watch)
{
	struct loop_watch proto = {.kind = &watch_timer, .callback = callback, .ctx = ctx};
	int err;

	proto.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (proto.fd < 0)
		return -errno;
	err = timer_arm(proto.fd, first_ns, interval_ns);
	if (!err)
		err = loop_add(loop, &proto, EPOLLIN, ret_watch);
	if (err)
		close(proto.fd);
	return err;
}

int loop_add_signal(struct loop *loop, int signal_number, loop_callback *callback, void *ctx,
		    struct loop_watch **ret_watch)
{
	struct loop_watch proto = {.kind = &watch_signal,
				   .callback = callback,
				   .ctx = ctx,
				   .signal_number = signal_number};
	sigset_t set;
	int err;

	sigemptyset(&set);
	if (sigaddset(&set, signal_number))
		return -errno;
	proto.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (proto.fd < 0)
		return -errno;
	err = loop_add(loop, &proto, EPOLLIN, ret_watch);
	if (err)
		close(proto.fd);
	else
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	return err;
}

void loop_remove(struct loop *loop, struct loop_watch *watch)
{
	if (!watch || watch->dead)
		return;
	epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->kind->close(loop, watch);
	watch->dead = true;
	watch_unlink(watch);
	watch_link(watch, &loop->dead);
	if (!loop->depth)
		bury_dead(loop);
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	while (loop->watches)
		loop_remove(loop, loop->watches);
	close(loop->epoll);
	free(loop);
}

/* Returns 1 if it called the callback, else 0. */
static int watch_dispatch(struct loop_watch *watch, uint32_t events)
{
	uint32_t what;

	if (watch->dead)
		return 0;
	what = watch->kind->fetch(watch, events);
	if (!what)
		return 0;
	watch->callback(watch->ctx, what);
	return 1;
}

int loop_once(struct loop *loop, int timeout_ms)
{
	struct epoll_event events[LOOP_BATCH];
	int count = epoll_wait(loop->epoll, events, LOOP_BATCH, timeout_ms);
	int called = 0;

	if (count < 0)
		return errno == EINTR ? 0 : -errno;
	loop->depth++;
	for (int i = 0; i < count; i++)
		called += watch_dispatch(events[i].data.ptr, events[i].events);
	loop->depth--;
	if (!loop->depth)
		bury_dead(loop);
	return called;
}

int loop_run(struct loop *loop)
{
	while (!loop->stopped) {
		int called = loop_once(loop, -1);

		if (called < 0)
			return called;
	}
	loop->stopped = false;
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}
