/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/backend.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "os/process/proc.h"
#include "source/trace/process.h"

struct traced_process *processes_find(const struct trace_source *trace, pid_t pid)
{
	uint32_t index = map64_get(&trace->index_of_pid, (uint64_t)pid);

	return index == MAP64_NONE ? NULL : trace->processes[index];
}

/* The model keeps its data. */
void processes_remove(struct trace_source *trace, struct traced_process *process)
{
	uint32_t index = map64_get(&trace->index_of_pid, (uint64_t)process->pid);
	struct traced_process *last = trace->processes[--trace->process_count];

	map64_delete(&trace->index_of_pid, (uint64_t)process->pid);
	if (last != process) {
		trace->processes[index] = last;
		(void)map64_set(&trace->index_of_pid, (uint64_t)last->pid,
				index); /* cannot fail: the key exists */
	}
	traced_process_free(process);
	free(process);
}

struct traced_process processes_nobody(struct trace_source *trace)
{
	return (struct traced_process){.config = &trace->config,
				       .ops = trace->probe_ops,
				       .prober = trace->prober,
				       .tables = trace->tables,
				       .shared = &trace->shared};
}

int processes_new(struct trace_source *trace, pid_t pid, struct traced_process **ret_process)
{
	struct traced_process *process = calloc(1, sizeof(*process));

	if (!process ||
	    vec_reserve_bytes((void **)&trace->processes, &trace->process_capacity,
			      trace->process_count + 1, sizeof(*trace->processes)) ||
	    map64_set(&trace->index_of_pid, (uint64_t)pid, (uint32_t)trace->process_count)) {
		free(process);
		return -ENOMEM;
	}
	process->config = &trace->config;
	process->ops = trace->probe_ops;
	process->prober = trace->prober;
	process->tables = trace->tables;
	process->shared = trace->prober->everybody ? &trace->shared : NULL;
	process->pid = pid;
	process->entered_ns = clock_now_ns();
	trace->processes[trace->process_count++] = process;
	*ret_process = process;
	return 0;
}
