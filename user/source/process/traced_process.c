/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/process/traced_process.h"

#include <errno.h>

#include "os/file/descriptors.h"
#include "os/process/proc.h"
#include "symbol/elf/module_table.h"

int traced_process_deliver(const struct traced_process *process, struct event *event)
{
	event->pid = event->tid = (uint32_t)process->pid;
	if (!event->time_ns)
		event->time_ns = clock_now_ns();
	return process->config->deliver(process->config->ctx, event);
}

/* The newest mapping wins: unmapping is not reported. */
const struct module *mapping_find(const struct traced_process *process, uint64_t address,
				  uint64_t *ret_offset)
{
	for (size_t i = process->mapping_count; i--;) {
		const struct delivered_mapping *mapping = &process->mappings[i];

		if (address < mapping->start || address >= mapping->end)
			continue;
		*ret_offset = address - mapping->start + mapping->offset;
		return module_get(process->config->modules, mapping->module);
	}
	return NULL;
}

pid_t traced_process_reader(const struct traced_process *process)
{
	if (process->leader_exited || !process->prober->ops)
		return proc_living_thread(process->pid);
	return process->pid;
}

/* One process that uses up our descriptors must not end the trace of all others. */
bool traced_process_must_fail(const struct traced_process *process, int code)
{
	return code == -ENOMEM ||
	       (descriptors_missing(code) && process->config->scope != SCOPE_SYSTEM);
}
