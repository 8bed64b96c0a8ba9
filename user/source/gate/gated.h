/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes whose allocation functions have gates (gate/gates.h) instead of probes. The probes are
 * at the probe sites of the gates, which only sampled calls pass.
 *
 * The gates of a module are placed when the probes of a process are committed: only then is it
 * known where its modules are mapped. If a module cannot have gates, it gets probes as usual.
 */
#ifndef MTRACE_SOURCE_GATE_GATED_H
#define MTRACE_SOURCE_GATE_GATED_H

#include <stdbool.h>
#include <stdint.h>

#include "source/process/traced_process.h"
#include "symbol/probe_site/plan.h"

/* Returns true if gates are to be used in this trace, for modules that can have them. */
bool gated_wanted(const struct source_config *config);

/* Before a process is attached: removes gates that an earlier trace has left. Fails with a message
 * if others are in use. Returns 0 or -errno; sets *err. */
int gated_clean(const struct traced_process *process, struct error *err);

/* Returns true if all heap functions of the module are to get gates. Then the module must not be
 * probed until gated_place() returns it. */
bool gated_defer(struct traced_process *process, const struct module *module);

/*
 * Places the gates of a deferred module, and their probes, and returns it. If it cannot have gates,
 * gated_has() is false. NULL when there are none left.
 */
const struct module *gated_place(struct traced_process *process);

/* Like prober_attach(). Pages that have been replaced are probed in the file that is there now. */
int gated_attach(const struct traced_process *process, const struct module *module,
		 const struct probe_request *request, struct probe_links *links);

/* Returns true, once, if a module with gates has another copy at that address (dlmopen). That one
 * is to be probed: gated_attach() then places probes in the module's file. */
bool gated_finds_copy(struct traced_process *process, const struct module *module,
		      uint64_t address);

/* Returns true if the module's heap functions have gates, or wait for them. */
bool gated_has(const struct traced_process *process, const struct module *module);

/* The process has executed another program, where its gates are gone: forgets those of one module,
 * and returns it. NULL when there are none left. */
const struct module *gated_drop(struct traced_process *process);

/*
 * Starts gates that were placed since the last call. Until then they sample nothing: the pages that
 * hold their jumps are mapped from a file of ours, and must first be known as code of the module.
 */
void gated_start(struct traced_process *process);
/* Returns true if there are any to start. */
bool gated_waits(const struct traced_process *process);

/* The module whose code is mapped there from a file of ours (GATE_CODE_PATH); NULL: the gates'
 * own code. */
struct proc_mapping;
struct module *gated_module_at(const struct traced_process *process,
			       const struct proc_mapping *mapping);

/* Sets the sample of the gates from now on, as in records. */
void gated_sample(const struct traced_process *process, uint32_t sample);
/* The number of sampled calls that gates could not report. */
uint64_t gated_missed(const struct traced_process *process);

/* Removes the gates from the process. */
void gated_remove(struct traced_process *process);
/* The process has exited: its gates are gone. */
void gated_forget(struct traced_process *process);

#endif
