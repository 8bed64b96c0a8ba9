/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/cost/spent.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "bpf/abi.h"
#include "os/process/cpu_time.h"
#include "source/bpf/load/loaded_programs.h"
#include "source/trace/backend.h"
#include "mtrace.skel.h"

#define ASK_MOST 5 /* calls; after that, ignore what is unknown */

static uint64_t counted_of(const struct spent *spent, uint32_t pid)
{
	uint32_t index = map64_get(&spent->index_of_pid, pid);

	return index == MAP64_NONE ? 0 : spent->counted.items[index];
}

/* If out of memory, too much of its time is counted. */
static void count(struct spent *spent, uint32_t pid, uint64_t ns)
{
	uint32_t index = map64_get(&spent->index_of_pid, pid);

	if (index != MAP64_NONE)
		spent->counted.items[index] = ns;
	else if (!map64_set(&spent->index_of_pid, pid, (uint32_t)spent->counted.count) &&
		 vec_push(&spent->counted, ns))
		map64_delete(&spent->index_of_pid, pid);
}

static void add(struct spent *spent, uint32_t pid, uint64_t ns)
{
	uint64_t before = counted_of(spent, pid);

	if (ns > before)
		spent->ns += ns - before;
}

static int ended_map(const struct trace_source *bpf)
{
	return bpf_map__fd(bpf->program->skeleton->maps.ended);
}

static void forget_ended(const struct trace_source *bpf)
{
	int map = ended_map(bpf);
	struct ended_key key;

	while (!bpf_map_get_next_key(map, NULL, &key) && !bpf_map_delete_elem(map, &key))
		;
}

void spent_begin(struct trace_source *bpf, struct spent *spent)
{
	spent_free(spent);
	spent->all_ns = cpu_time_of_all();
	forget_ended(bpf);
	bpf->program->skeleton->bss->exits_wanted = 1;
	for (size_t i = 0; i < bpf->process_count; i++) {
		pid_t pid = bpf->processes[i]->pid;

		count(spent, (uint32_t)pid, cpu_time_of(pid));
	}
}

void spent_end(struct trace_source *bpf, struct spent *spent)
{
	spent->all_ns = cpu_time_of_all() - spent->all_ns;
	bpf->program->skeleton->bss->exits_wanted = 0;
	for (size_t i = 0; i < bpf->process_count; i++) {
		uint32_t pid = (uint32_t)bpf->processes[i]->pid;
		uint64_t now = cpu_time_of((pid_t)pid);

		if (!now)
			continue; /* it has exited */
		add(spent, pid, now);
		count(spent, pid, now);
	}
}

/* A zombie still has a CPU clock, which no longer advances. 0: unknown. */
static uint64_t time_of_ended(const struct ended_process *process)
{
	return process->cpu_ns ? process->cpu_ns : cpu_time_of((pid_t)process->pid);
}

int spent_sum(struct trace_source *bpf, struct spent *spent, uint64_t *ret_ns)
{
	int map = ended_map(bpf), err = 0;
	struct ended_key key, *last = NULL;
	struct ended_process process;
	uint64_t living = spent->ns;

	if (bpf->prober->everybody) {
		*ret_ns = spent->all_ns;
		return 0;
	}
	while (!bpf_map_get_next_key(map, last, &key)) {
		last = &key;
		if (bpf_map_lookup_elem(map, &key, &process))
			continue;
		if (!time_of_ended(&process) && spent->asked < ASK_MOST)
			err = -EAGAIN;
		add(spent, process.pid, time_of_ended(&process));
	}
	*ret_ns = spent->ns;
	spent->ns = living;
	spent->asked++;
	return err;
}

void spent_free(struct spent *spent)
{
	map64_free(&spent->index_of_pid);
	vec_free(&spent->counted);
	*spent = (struct spent){0};
}
