/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heir: a process that shares our descriptors (CLONE_FILES), closes probes for us, and what is
 * left when we are gone.
 *
 * Whoever is killed while it closes a uprobe cannot take out its breakpoints: where a fatal signal
 * is pending, the kernel gives up on the process that has them ("failed to unregister, leaking
 * uprobe", kernel/events/uprobes.c), and they stay there for ever. To close takes long, and people
 * get impatient: so it is done by somebody whom they do not kill.
 *
 * It cannot help where both are killed at once (cgroup.kill), nor with a probe that is being placed
 * at the moment of the signal.
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

/* To be called by the thread that lives longest. 0 or -errno. */
int heir_start(struct heir *ret_heir);
/* Close them all at once, or one after the other; they are closed when it returns. */
void heir_close(const struct heir *heir, const int *fds, size_t count, bool in_order);
/* Begin to close them all at once, and do not wait for the end of it; others do. How many of them
 * it takes: 0 while it has something to do. */
size_t heir_begin_close(const struct heir *heir, const int *fds, size_t count);
/* Zeroed memory is fine. */
void heir_end(struct heir *heir);

#endif
