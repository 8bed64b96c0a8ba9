/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/leader.h"

#include "base/log.h"
#include "source/trace/probes.h"
#include "symbol/elf/module_table.h"

int bpf_leader_lost(struct bpf_process *process, struct shared_probes *shared)
{
	struct module *module;
	int err = 0;

	if (process->shared || process->config->scope != SCOPE_NAMED)
		return 0;
	process->shared = shared;
	for (uint32_t id = 0; !err && (module = module_get(process->config->modules, id)); id++)
		if (map64_get(&process->attached, id) != MAP64_NONE)
			err = probes_share(process, module);
	if (!err)
		err = process->program->ops->leader_lost(process->program, process->pid);
	if (err)
		return err;
	process->leaderless = true;
	process->shared_ns = clock_now_ns();
	shared->leaderless++;
	log_info("process %d has lost its first thread: its probes are now in every process",
		 (int)process->pid);
	return 0;
}

void bpf_leader_forget(const struct bpf_process *process, struct shared_probes *shared)
{
	process->program->ops->leader_found(process->program, process->pid);
	if (--shared->leaderless)
		return;
	program_close(process->program, &shared->links); /* nobody else shall pay any longer */
	map64_free(&shared->attached);
	vec_free(&shared->placed_ns);
	shared->paused = false;
}

void bpf_leader_count_gap(struct bpf_process *process, uint64_t mapped_ns)
{
	if (mapped_ns >= process->shared_ns)
		return;
	process->gap_ns += process->shared_ns - mapped_ns;
	process->shared_ns = 0;
}

void bpf_leader_found(struct bpf_process *process, struct shared_probes *shared, uint64_t exec_ns)
{
	bpf_leader_count_gap(process, exec_ns);
	bpf_leader_forget(process, shared);
	process->leaderless = false;
}

pid_t bpf_leader_reader(const struct bpf_process *process)
{
	if (process->leaderless || !process->program->skeleton)
		return proc_living_thread(process->pid);
	return process->pid;
}
