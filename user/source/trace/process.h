/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens to a traced process: it is attached, it forks, it executes a program, it ends. */
#ifndef MTRACE_SOURCE_TRACE_PROCESS_H
#define MTRACE_SOURCE_TRACE_PROCESS_H

#include "source/process/traced_process.h"

/*
 * A child begins as a copy of its parent: its modules, and the probes that it has inherited. NULL
 * as parent: nothing was known of it. Delivers EVENT_FORK.
 */
int traced_process_fork(struct traced_process *process, const struct traced_process *parent,
			const struct record_fork *fork);

/* Attach to all modules that the process maps now, deliver them, and verify the probes. */
int traced_process_attach(struct traced_process *process, struct error *err);

/*
 * Take the probes out and place them anew, in all files that had them. What was called since then
 * is a gap. 0 or -ENOMEM.
 */
int traced_process_attach_again(struct traced_process *process, uint64_t since_ns);

/* Attach to all files that the program will map. */
int traced_process_attach_launch(struct traced_process *process, const char *program,
				 char *const *command, char *const *environment, struct error *err);

/* A new image: forget the mappings, deliver EVENT_PROCESS or EVENT_EXEC. */
int traced_process_exec(struct traced_process *process, const struct record_exec *exec);

/*
 * Is this free a part of the thread's last one: of the same address, by another allocator, to which
 * the first one (a preloaded one, say) hands on?
 */
bool traced_process_is_nested_free(struct traced_process *process, uint32_t tid, uint64_t address,
				   uint8_t object);

/* Take the probes out. */
void traced_process_detach(struct traced_process *process);
void traced_process_free(struct traced_process *process);

#endif
