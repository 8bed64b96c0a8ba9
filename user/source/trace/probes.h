/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probes of one process: placed by the plan of each module, then verified in the process's
 * memory. What could not be probed is counted in process->unprobed_sites.
 */
#ifndef MTRACE_SOURCE_TRACE_PROBES_H
#define MTRACE_SOURCE_TRACE_PROBES_H

#include "source/process/traced_process.h"

/* Probes for everybody in a module that is probed for the process alone. 0 or -ENOMEM. */
int probes_share(struct traced_process *process, struct module *module);

/* All probes that are for everybody, once more: their links were closed. 0 or -ENOMEM. */
int probes_share_again(struct traced_process *nobody);

/* Probe a module that is mapped, once per process. What cannot be probed is a told loss. 0 or
 * -ENOMEM. */
int probes_attach(struct traced_process *process, struct module *module);

/* Probe a module that may be mapped one day. 0 or -ENOMEM. */
int probes_attach_ahead(struct traced_process *process, struct module *module);

/* By means that children inherit, probes are there once this returns: after modules that belong
 * together. 0 or -ENOMEM. */
int probes_commit(struct traced_process *process);

extern const struct probe_ops attached_probe_ops;

/* Can there be probes of ours in programs of that machine (e_machine)? */
bool probes_reach(const struct traced_process *process, int machine);

#define BREAKPOINT_UNKNOWN (-1)

/* Who wants to know each probe of a module. A return that is not 0 ends it, and is returned. */
struct probe_taker {
	int (*take)(void *ctx, enum probe_kind kind, uint64_t offset, uint64_t cookie,
		    int original);
	void *ctx;
};
int probes_each(const struct traced_process *process, const struct module *module,
		struct probe_taker *taker);

/* Is there an allocation function in what the present image maps? Also if nothing is known of it.
 */
bool probes_found(const struct traced_process *process);

/* Count sites that no mapping of their file covers, once all mappings are known. */
void probes_count_unmapped(struct traced_process *process);

#endif
