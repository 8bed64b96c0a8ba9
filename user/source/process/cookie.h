/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The attach cookies of probe sites (bpf/abi.h), and the kinds of their probes. */
#ifndef MTRACE_SOURCE_PROCESS_COOKIE_H
#define MTRACE_SOURCE_PROCESS_COOKIE_H

#include <stdint.h>

#include "source/process/traced_process.h"
#include "symbol/probe_site/plan.h"

/* COOKIE_FLAG_ANYBODY at its place if the process uses probes that are in all processes. */
uint64_t cookie_anybody(const struct traced_process *process);
uint64_t cookie_of_site(const struct traced_process *process, const struct module *module,
			const struct probe_plan *plan, const struct probe_site *site);
enum probe_kind cookie_kind(const struct traced_process *process, const struct module *module,
			    const struct probe_plan *plan, const struct probe_site *site);

#endif
