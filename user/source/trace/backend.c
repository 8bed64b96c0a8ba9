/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/backend.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "os/process/proc.h"
#include "source/trace/process.h"

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
				    .prober = bpf->prober,
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
	process->prober = bpf->prober;
	process->tables = bpf->tables;
	process->shared = bpf->prober->everybody ? &bpf->shared : NULL;
	process->pid = pid;
	process->entered_ns = clock_now_ns();
	bpf->processes[bpf->process_count++] = process;
	*ret_process = process;
	return 0;
}
