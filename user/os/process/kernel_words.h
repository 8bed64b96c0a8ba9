/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pointers of a process that only the kernel keeps, as far as /proc shows them:
 * - the data of descriptors that an epoll instance watches (/proc/PID/fdinfo/FD, epoll_ctl(2));
 * - an io_uring's registered buffers, submissions that the kernel has not taken, and completions
 *   that the process has not taken (/proc/PID/fdinfo/FD, io_uring/fdinfo.c);
 * - the values that POSIX timers pass to the process (/proc/PID/timers, timer_create(2)).
 * Not shown there: requests of an io_uring that are in progress, aio, alternate signal stacks,
 * robust lists.
 */
#ifndef MTRACE_OS_PROCESS_KERNEL_WORDS_H
#define MTRACE_OS_PROCESS_KERNEL_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The descriptors of epoll instances and io_urings. All-zero memory is an empty list; free it with
 * vec_free. */
struct data_descriptors {
	int *items;
	size_t count;
	size_t capacity;
};

/* All-zero memory is an empty list; free it with vec_free. */
struct kernel_words {
	uint64_t *items;
	size_t count;
	size_t capacity;
};

/*
 * Looks at each descriptor of the process, which may take milliseconds: call it before the process
 * is stopped. Returns 0 or -errno (-ESRCH, -EACCES, -ENOMEM).
 */
int data_descriptors_find(pid_t pid, struct data_descriptors *ret_descriptors);

/*
 * Adds the words that the kernel keeps now. `pid` may also be a thread's id, if the first thread
 * has exited. What /proc does not show (an old kernel, a descriptor that has been closed) is left
 * out. A 32-bit program's data is in either half of a word. Returns 0 or -ENOMEM.
 */
int kernel_words_read(pid_t pid, const struct data_descriptors *descriptors,
		      struct kernel_words *words);

#endif
