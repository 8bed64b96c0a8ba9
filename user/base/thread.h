/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Helper threads. */
#ifndef MTRACE_BASE_THREAD_H
#define MTRACE_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Starts a thread with all signals blocked: only the threads that expect signals handle them.
 * Returns 0 or -errno. */
static inline int thread_start(pthread_t *ret_thread, void *(*run)(void *), void *argument)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	code = -pthread_create(ret_thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

#endif
