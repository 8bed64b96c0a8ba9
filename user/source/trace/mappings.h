/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable mappings of one process, told by the kernel's records or read from /proc: each new
 * one is delivered as an event, its module opened, probed and given an unwind table.
 */
#ifndef MTRACE_SOURCE_TRACE_MAPPINGS_H
#define MTRACE_SOURCE_TRACE_MAPPINGS_H

#include "source/process/traced_process.h"

/* Probe what the process maps now, but for probes_commit, and tell nothing of it. As below. */
int mappings_attach(struct traced_process *process);

/* Everything that the process maps now. 0 or -errno; -ESRCH if it is gone. */
int mappings_read(struct traced_process *process, uint64_t time_ns);

/* The same, for what came to be mapped at a time: calls since then are a gap. A process that is
 * gone is no error. */
int mappings_read_late(struct traced_process *process, uint64_t since_ns);

/* Handles the record of a new executable mapping. Without a name and a range in the record, reads
 * the mappings from /proc. 0 or -errno. */
int traced_process_mapping(struct traced_process *process, const struct record_mapping *record);

/* The vdso of that word size, its unwind table published; NULL, and stacks end there, if it is not
 * to be had. 0 or -ENOMEM. */
int vdso_open(struct traced_process *process, bool is_64bit, struct module **ret_module);

#endif
