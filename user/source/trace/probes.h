/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probes of one process: placed according to the plan of each module, then verified in the
 * process's memory. Sites that could not be probed are counted in process->unprobed_sites.
 */
#ifndef MTRACE_SOURCE_TRACE_PROBES_H
#define MTRACE_SOURCE_TRACE_PROBES_H

#include "source/process/traced_process.h"

/* Places probes for all processes in a module that is probed for this process only. Returns 0 or
 * -ENOMEM. */
int probes_share(struct traced_process *process, struct module *module);

/* Places all probes for all processes again after their links were closed. Returns 0 or -ENOMEM. */
int probes_share_again(struct traced_process *nobody);

/* Probes a mapped module, once per process. What cannot be probed is reported as a loss. Returns 0
 * or an error of traced_process_must_fail(). */
int probes_attach(struct traced_process *process, struct module *module);

/* Probes a module that may be mapped later. Returns the same as probes_attach(). */
int probes_attach_ahead(struct traced_process *process, struct module *module);

/* A module with gates is also mapped elsewhere: probes its functions there. Returns 0 or -errno. */
int probes_attach_copy(struct traced_process *process, const struct module *module);

/* The process has executed another program, where nothing is left of its gates: probes their
 * functions instead. Returns 0 or -errno. */
int probes_after_exec(struct traced_process *process);

/* Inherited probes are only in place after this returns. Call it after modules that belong
 * together. Returns 0 or -ENOMEM. */
int probes_commit(struct traced_process *process);

extern const struct probe_ops attached_probe_ops;

/* Returns true if programs for that machine (e_machine) can be probed. */
bool probes_reach(const struct traced_process *process, int machine);

#define BREAKPOINT_UNKNOWN (-1)

/* A callback for each probe of a module. A nonzero return value ends the iteration and is
 * returned. */
struct probe_taker {
	int (*take)(void *ctx, enum probe_kind kind, uint64_t offset, uint64_t cookie,
		    int original);
	void *ctx;
};
int probes_each(const struct traced_process *process, const struct module *module,
		struct probe_taker *taker);

/* Returns true if the current image maps an allocation function, or if its mappings are unknown. */
bool probes_found(const struct traced_process *process);

/* Counts sites that no mapping of their file covers. Call it when all mappings are known. */
void probes_count_unmapped(struct traced_process *process);

#endif
