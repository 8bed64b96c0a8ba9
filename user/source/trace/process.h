/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens to a traced process: it is attached, it forks, it executes a program, it ends. */
#ifndef MTRACE_SOURCE_TRACE_PROCESS_H
#define MTRACE_SOURCE_TRACE_PROCESS_H

#include "source/process/traced_process.h"

/*
 * A child begins as a copy of its parent: its modules, and the probes that it has inherited. NULL
 * as parent: nothing was known of it. Delivers EVENT_FORK.
 */
int bpf_process_fork(struct bpf_process *process, const struct bpf_process *parent,
		     const struct record_fork *fork);

/* Attach to all modules that the process maps now, deliver them, and verify the probes. */
int bpf_process_attach(struct bpf_process *process, struct error *err);

/*
 * Take the probes out and place them anew, in all files that had them. What was called since then
 * is a gap. 0 or -ENOMEM.
 */
int bpf_process_attach_again(struct bpf_process *process, uint64_t since_ns);

/* Attach to all files that the program will map. */
int bpf_process_attach_launch(struct bpf_process *process, const char *program,
			      char *const *command, char *const *environment, struct error *err);

/* A new image: forget the mappings, deliver EVENT_PROCESS or EVENT_EXEC. */
int bpf_process_exec(struct bpf_process *process, const struct record_exec *exec);

/*
 * Is this free a part of the thread's last one: of the same address, by another allocator, to which
 * the first one (a preloaded one, say) hands on?
 */
bool bpf_process_is_nested_free(struct bpf_process *process, uint32_t tid, uint64_t address,
				uint8_t object);

/* Take the probes out. */
void bpf_process_detach(struct bpf_process *process);
void bpf_process_free(struct bpf_process *process);

#endif
