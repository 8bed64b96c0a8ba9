/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable mappings of one process, from records or from /proc. Each new one is delivered as
 * an event; its module is opened, probed and given an unwind table.
 */
#ifndef MTRACE_SOURCE_TRACE_MAPPINGS_H
#define MTRACE_SOURCE_TRACE_MAPPINGS_H

#include "source/process/traced_process.h"

/* Probes what the process maps now, without probes_commit() and without events. Returns as
 * below. */
int mappings_attach(struct traced_process *process);

/* Probes and delivers everything that the process maps now. Returns 0 or -errno; -ESRCH if it is
 * gone. */
int mappings_read(struct traced_process *process, uint64_t time_ns);

/* The same for code that was mapped at `since_ns`: the time since then is a gap. A process that is
 * gone is not an error. */
int mappings_read_with_gap(struct traced_process *process, uint64_t since_ns);

/* Handles the record of a new executable mapping. Without a name and a range in the record, reads
 * the mappings from /proc. 0 or -errno. */
int traced_process_mapping(struct traced_process *process, const struct record_mapping *record);

/* Returns the vdso of that word size, with its unwind table published; NULL if it is unavailable,
 * and stacks then end there. Returns 0 or -ENOMEM. */
int vdso_open(struct traced_process *process, bool is_64bit, struct module **ret_module);

#endif
