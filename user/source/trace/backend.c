/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/backend.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "source/trace/probes.h"
#include "source/trace/translated.h"

struct bpf_process *processes_find(const struct bpf_source *bpf, pid_t pid)
{
	uint32_t index = map64_get(&bpf->index_of_pid, (uint64_t)pid);

	return index == MAP64_NONE ? NULL : bpf->processes[index];
}

/* Only the books remember it. */
void processes_remove(struct bpf_source *bpf, struct bpf_process *process)
{
	uint32_t index = map64_get(&bpf->index_of_pid, (uint64_t)process->pid);
	struct bpf_process *last = bpf->processes[--bpf->process_count];

	map64_delete(&bpf->index_of_pid, (uint64_t)process->pid);
	if (last != process) {
		bpf->processes[index] = last;
		(void)map64_set(&bpf->index_of_pid, (uint64_t)last->pid,
				index); /* it has a place */
	}
	bpf_process_free(process);
	free(process);
}

struct bpf_process processes_nobody(struct bpf_source *bpf)
{
	return (struct bpf_process){.config = &bpf->config,
				    .ops = bpf->probe_ops,
				    .program = &bpf->program,
				    .tables = bpf->tables,
				    .shared = &bpf->shared};
}

int processes_new(struct bpf_source *bpf, pid_t pid, struct bpf_process **ret_process)
{
	struct bpf_process *process = calloc(1, sizeof(*process));

	if (!process ||
	    vec_reserve_bytes((void **)&bpf->processes, &bpf->process_capacity,
			      bpf->process_count + 1, sizeof(*bpf->processes)) ||
	    map64_set(&bpf->index_of_pid, (uint64_t)pid, (uint32_t)bpf->process_count)) {
		free(process);
		return -ENOMEM;
	}
	process->config = &bpf->config;
	process->ops = bpf->probe_ops;
	process->program = &bpf->program;
	process->tables = bpf->tables;
	process->shared = bpf->program.everybody ? &bpf->shared : NULL;
	process->pid = pid;
	process->entered_ns = clock_now_ns();
	bpf->processes[bpf->process_count++] = process;
	*ret_process = process;
	return 0;
}

int processes_tell_losses(const struct bpf_process *process, const uint64_t count[LOSS_COUNT])
{
	const struct snapshot_losses losses = {
		.events = count[LOSS_EVENTS] + count[LOSS_READ],
		.stacks = count[LOSS_STACKS],
		.missed_returns = count[LOSS_NO_RETURN] + count[LOSS_NO_STATE],
		.unprobed_sites = process->unprobed_sites,
		.gap_ns = process->gap_ns + translated_gap_ns(process) + count[LOSS_GAP_NS],
		.no_allocator = process->translated || !probes_found(process),
		.children = count[LOSS_CHILDREN],
		.filtered = count[LOSS_FILTERED],
	};
	struct event event = {.kind = EVENT_LOSSES, .losses = &losses};

	return bpf_process_deliver(process, &event);
}
