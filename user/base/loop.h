/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop: descriptors, timers and signals, all of them callbacks from one epoll instance
 * in one thread. A signal is an event like any other, so nothing ever runs in a signal handler.
 *
 * A callback may add and remove any watch, its own included, may stop the loop, and may run the
 * loop itself (loop_once); a watch that was removed is never called again, even if its event was
 * already fetched.
 */
#ifndef MTRACE_BASE_LOOP_H
#define MTRACE_BASE_LOOP_H

#include <signal.h>
#include <stdint.h>

struct loop;
struct loop_watch;

/* what: EPOLL… events of a descriptor, expirations of a timer since last time, or the signal. */
typedef void loop_callback(void *ctx, uint32_t what);

/* 0 or -errno. Make the loop before anything blocks signals: it remembers the mask (below). */
int loop_new(struct loop **ret_loop);
/* Removes every watch. Not from within a callback. NULL is fine. */
void loop_free(struct loop *loop);

/* The signal mask at loop_new: what a launched program must be given. */
const sigset_t *loop_original_mask(const struct loop *loop);

/*
 * 0 or -errno. ret_watch may be NULL if nobody will remove the watch before loop_free.
 * The descriptor stays the caller's, who closes it after loop_remove. Level-triggered, unless
 * events say EPOLLET. A regular file gives -EPERM: it is always ready, so there is nothing to
 * watch.
 */
int loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_callback *callback, void *ctx,
		struct loop_watch **ret_watch);
/* CLOCK_MONOTONIC; first after first_ns (0: at once), then every interval_ns (0: only once). */
int loop_add_timer(struct loop *loop, uint64_t first_ns, uint64_t interval_ns,
		   loop_callback *callback, void *ctx, struct loop_watch **ret_watch);
/*
 * Blocks the signal in this thread. Its removal discards what is pending and unblocks it, unless
 * it was blocked before. One watch per signal.
 */
int loop_add_signal(struct loop *loop, int signal_number, loop_callback *callback, void *ctx,
		    struct loop_watch **ret_watch);
/* NULL is fine. */
void loop_remove(struct loop *loop, struct loop_watch *watch);

/* Until loop_stop, also one that came before: 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/*
 * Wait once, at most timeout_ms (-1: for ever), and call back whatever is ready: the number of
 * callbacks made, possibly 0, or -errno.
 */
int loop_once(struct loop *loop, int timeout_ms);

#endif
