/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop: one epoll instance in one thread calls back for descriptors, timers and signals.
 * A signal is an event like any other, so no code ever runs in a signal handler.
 *
 * A callback may add and remove any watch, including its own, may stop the loop, and may run the
 * loop itself (loop_once). A removed watch is never called again, even if its event was already
 * fetched.
 */
#ifndef MTRACE_BASE_LOOP_H
#define MTRACE_BASE_LOOP_H

#include <signal.h>
#include <stdint.h>

struct loop;
struct loop_watch;

/* `what` is: for a descriptor, the EPOLL… events; for a timer, the number of expirations since the
 * last call; for a signal, its number. */
typedef void loop_callback(void *ctx, uint32_t what);

/* Saves the current signal mask (see loop_original_mask), so call this before blocking any signals.
 * Returns 0 or -errno. */
int loop_new(struct loop **ret_loop);
/* Removes every watch. Do not call this from a callback. loop may be NULL. */
void loop_free(struct loop *loop);

/* The signal mask at the time of loop_new. Launched programs get this mask. */
const sigset_t *loop_original_mask(const struct loop *loop);

/*
 * Watches a descriptor, level-triggered unless events contains EPOLLET. ret_watch may be NULL if
 * the watch lives until loop_free. The caller keeps ownership of the descriptor and closes it after
 * loop_remove. Returns 0 or -errno; -EPERM for a regular file, which is always ready, so there is
 * nothing to watch.
 */
int loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_callback *callback, void *ctx,
		struct loop_watch **ret_watch);
/* Starts a CLOCK_MONOTONIC timer that expires after first_ns (0: immediately), and then every
 * interval_ns (0: only once). Returns 0 or -errno. */
int loop_add_timer(struct loop *loop, uint64_t first_ns, uint64_t interval_ns,
		   loop_callback *callback, void *ctx, struct loop_watch **ret_watch);
/*
 * Blocks the signal in this thread. Removing the watch discards pending signals, and unblocks the
 * signal unless it was blocked at loop_new. At most one watch per signal. Returns 0 or -errno.
 */
int loop_add_signal(struct loop *loop, int signal_number, loop_callback *callback, void *ctx,
		    struct loop_watch **ret_watch);
/* watch may be NULL. */
void loop_remove(struct loop *loop, struct loop_watch *watch);

/* Runs until loop_stop; an earlier loop_stop makes it return at once. Returns 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/*
 * Waits once, for at most timeout_ms (-1: no limit), and calls back for everything that is ready.
 * Returns the number of callbacks made, possibly 0, or -errno.
 */
int loop_once(struct loop *loop, int timeout_ms);

#endif
