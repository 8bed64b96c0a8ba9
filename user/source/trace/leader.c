/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/leader.h"

#include "base/log.h"
#include "os/process/proc.h"
#include "source/gate/gated.h"
#include "source/trace/probes.h"
#include "symbol/elf/module_table.h"

int leader_lost(struct traced_process *process, struct shared_probes *shared)
{
	bool gated = process->gated.count != 0;
	uint64_t began_ns = clock_now_ns();
	struct module *module;
	int err = 0;

	if (process->shared || process->config->scope != SCOPE_NAMED)
		return 0;
	/* The probes of gates are in this process only. */
	gated_remove(process);
	process->shared = shared;
	for (uint32_t id = 0; !err && (module = module_get(process->config->modules, id)); id++)
		if (map64_get(&process->attached, id) != MAP64_NONE)
			err = probes_share(process, module);
	if (!err)
		err = process->prober->ops->leader_lost(process->prober, process->pid);
	if (err)
		return err;
	process->leader_exited = true;
	process->shared_ns = clock_now_ns();
	if (gated)
		process->gap_ns += process->shared_ns - began_ns;
	shared->leader_exited++;
	log_info("process %d: its first thread has exited; its probes are now in every process",
		 (int)process->pid);
	return 0;
}

void leader_forget(const struct traced_process *process, struct shared_probes *shared)
{
	process->prober->ops->leader_found(process->prober, process->pid);
	if (--shared->leader_exited)
		return;
	prober_close(process->prober, &shared->links); /* costs other processes no longer */
	map64_free(&shared->attached);
	vec_free(&shared->placed_ns);
	shared->paused = false;
}

void leader_count_gap(struct traced_process *process, uint64_t mapped_ns)
{
	if (mapped_ns >= process->shared_ns)
		return;
	process->gap_ns += process->shared_ns - mapped_ns;
	process->shared_ns = 0;
}

void leader_found(struct traced_process *process, struct shared_probes *shared, uint64_t exec_ns)
{
	leader_count_gap(process, exec_ns);
	leader_forget(process, shared);
	process->leader_exited = false;
}
