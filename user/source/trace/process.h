/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of a traced process: attach, fork, exec, exit. */
#ifndef MTRACE_SOURCE_TRACE_PROCESS_H
#define MTRACE_SOURCE_TRACE_PROCESS_H

#include "source/process/traced_process.h"

/*
 * A child starts as a copy of its parent: with its modules and the inherited probes. Delivers
 * EVENT_FORK.
 */
int traced_process_fork(struct traced_process *process, const struct traced_process *parent,
			const struct record_fork *fork);

/* Probes all modules that the process maps now, delivers them, and verifies the probes. */
int traced_process_attach(struct traced_process *process, struct error *err);

/*
 * Removes the probes and places them again in all files that had them. The time since `since_ns` is
 * a gap. Returns 0 or -ENOMEM.
 */
int traced_process_attach_again(struct traced_process *process, uint64_t since_ns);

/* Probes all files that the program will map. */
int traced_process_attach_launch(struct traced_process *process, const char *program,
				 char *const *command, char *const *environment, struct error *err);

/* Handles a new image: forgets the mappings, delivers EVENT_PROCESS or EVENT_EXEC. */
int traced_process_exec(struct traced_process *process, const struct record_exec *exec);

/*
 * Returns true if this free is part of the thread's last one: it has the same address but another
 * allocator, to which the first one (such as a preloaded one) forwards the call.
 */
bool traced_process_is_nested_free(struct traced_process *process, uint32_t tid, uint64_t address,
				   uint8_t object);

/* Removes the probes. */
void traced_process_detach(struct traced_process *process);
void traced_process_free(struct traced_process *process);

#endif
