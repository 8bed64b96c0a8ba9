/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that shares our descriptors (CLONE_FILES). It closes probes for us, and closes
 * everything that is open when we exit.
 *
 * A process that is killed while it closes a uprobe cannot remove its breakpoints: if a fatal
 * signal is pending, the kernel gives up on the process that contains them ("failed to unregister,
 * leaking uprobe", kernel/events/uprobes.c), and they stay there forever. Closing takes long and
 * users get impatient, so it is done by a process that users do not kill.
 *
 * It does not help if both processes are killed at the same time (cgroup.kill), nor for a probe
 * that is being placed when the signal arrives.
 */
#ifndef MTRACE_OS_PROCESS_HEIR_H
#define MTRACE_OS_PROCESS_HEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct heir_letter;

struct heir {
	pid_t pid, owner;
	int socket, its_socket;
	struct heir_letter *letter;
};

/* Call this from the thread that lives longest. Returns 0 or -errno. */
int heir_start(struct heir *ret_heir);
/* Closes all descriptors, in parallel or one after the other, and returns when they are closed. */
void heir_close(const struct heir *heir, const int *fds, size_t count, bool in_order);
/* Starts to close descriptors in parallel and does not wait; heir_close and heir_end do. Returns
 * how many of them it accepts: 0 while it is busy. */
size_t heir_begin_close(const struct heir *heir, const int *fds, size_t count);
/* Finishes the last request and stops the process. An all-zero heir is fine. */
void heir_end(struct heir *heir);

#endif
