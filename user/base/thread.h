/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that do work for another. */
#ifndef MTRACE_BASE_THREAD_H
#define MTRACE_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* With all signals blocked: they are for the threads that expect them. 0 or -errno. */
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
