/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU time of processes that have exited. It is only known when they are gone: address space
 * and probes are torn down after the exit tracepoint, which may take longer than the program ran,
 * and the leader's time is added to the others' when its parent has waited for it (kernel/exit.c:
 * __exit_signal). So the exit is recorded with a time of 0, and the time is filled in when the
 * kernel frees the leader.
 */
#ifndef MTRACE_BPF_EXIT_TIME_BPF_H
#define MTRACE_BPF_EXIT_TIME_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ENDED_MAX);
	__type(key, struct ended_key);
	__type(value, struct ended_process);
} ended SEC(".maps");

__u32 exits_wanted; /* user space measures the cost */

static __always_inline struct ended_key ended_key(struct task_struct *leader)
{
	return (struct ended_key){(__u64)leader, BPF_CORE_READ(leader, start_boottime)};
}

static __always_inline void note_end(__u32 pid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ended_key leader = ended_key(BPF_CORE_READ(task, group_leader));
	struct ended_process process = {.pid = pid};

	if (exits_wanted)
		bpf_map_update_elem(&ended, &leader, &process, BPF_ANY);
}

static __always_inline void note_time(struct task_struct *task)
{
	struct ended_key leader = ended_key(task);
	struct ended_process *process = bpf_map_lookup_elem(&ended, &leader);

	if (process)
		process->cpu_ns = BPF_CORE_READ(task, signal, sum_sched_runtime);
}

#endif
