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
#ifndef MTRACE_OS_PROCESS_PROBE_CLOSER_H
#define MTRACE_OS_PROCESS_PROBE_CLOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct close_request;

struct probe_closer {
	pid_t pid, owner;
	int socket, its_socket;
	struct close_request *request;
};

/* Call this from the thread that lives longest. Returns 0 or -errno. */
int probe_closer_start(struct probe_closer *ret_probe_closer);
/* Closes all descriptors, in parallel or one after the other, and returns when they are closed. */
void probe_closer_close(const struct probe_closer *probe_closer, const int *fds, size_t count,
			bool in_order);
/* Starts to close descriptors in parallel and does not wait; probe_closer_close and
 * probe_closer_end do. Returns how many of them it accepts: 0 while it is busy. */
size_t probe_closer_begin_close(const struct probe_closer *probe_closer, const int *fds,
				size_t count);
/* Finishes the last request and stops the process. An all-zero probe closer is fine. */
void probe_closer_end(struct probe_closer *probe_closer);

#endif
