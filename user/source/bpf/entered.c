/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes that the BPF programs know. */
#include "source/bpf/entered.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "bpf/abi.h"
#include "mtrace.skel.h"
#include "source/bpf/load/loaded_programs.h"

void processes_losses(const struct trace_source *bpf, pid_t pid, uint64_t ret_count[LOSS_COUNT])
{
	struct process_state state = {0};
	uint32_t key = (uint32_t)pid;

	(void)bpf_map_lookup_elem(bpf_map__fd(bpf->program->skeleton->maps.processes), &key,
				  &state);
	memcpy(ret_count, state.losses, sizeof(state.losses));
}

int processes_enter(struct trace_source *bpf, pid_t pid, struct traced_process **ret_process,
		    struct error *err)
{
	const struct process_state no_losses = {0};
	uint32_t key = (uint32_t)pid;

	if (bpf_map_update_elem(bpf_map__fd(bpf->program->skeleton->maps.processes), &key,
				&no_losses, BPF_ANY))
		return error_set_errno(
			err, -errno, "cannot trace more than %u processes at once",
			bpf_map__max_entries(bpf->program->skeleton->maps.processes));
	if (processes_new(bpf, pid, ret_process))
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

void processes_forget(struct trace_source *bpf, struct traced_process *process)
{
	uint32_t key = (uint32_t)process->pid;

	bpf_map_delete_elem(bpf_map__fd(bpf->program->skeleton->maps.processes), &key);
	processes_remove(bpf, process);
}
