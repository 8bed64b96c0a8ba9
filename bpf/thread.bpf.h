/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ids of the current process and thread, as user space sees them. In the initial pid namespace,
 * the kernel's helper returns them. A tracer in another pid namespace (a container) sees other
 * numbers in its /proc. bpf_get_ns_current_pid_tgid() only works for tasks of that very namespace,
 * but traced processes may be in a nested one. So the number is read from struct pid, which has one
 * for each level of nesting.
 */
#ifndef MTRACE_BPF_THREAD_BPF_H
#define MTRACE_BPF_THREAD_BPF_H

#define PID_LEVELS 33 /* MAX_PID_NS_LEVEL + 1 */

/* The number in the tracer's namespace; 0 for processes outside of it. */
static __noinline __u32 pid_number(struct pid *pid)
{
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid number;

	for (__u32 i = 0; i < PID_LEVELS && i <= level; i++) {
		/* Start with the innermost namespace, which is nearly always the tracer's. */
		__u64 place = bpf_core_field_offset(struct pid, numbers) +
			      (level - i) * bpf_core_type_size(struct upid);

		if (bpf_core_read(&number, sizeof(number), (void *)pid + place))
			return 0;
		if (BPF_CORE_READ(number.ns, ns.inum) == config_pid_namespace)
			return number.nr;
	}
	return 0;
}

static __noinline __u64 thread_in_namespace(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 process = pid_number(BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]));

	return process << 32 | pid_number(BPF_CORE_READ(task, thread_pid));
}

/* pid << 32 | tid */
static __always_inline __u64 thread_id(void)
{
	return config_pid_namespace ? thread_in_namespace() : bpf_get_current_pid_tgid();
}

/* The process id of another task. */
static __always_inline __u32 process_number(struct task_struct *task)
{
	if (config_pid_namespace)
		return pid_number(BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]));
	return BPF_CORE_READ(task, tgid);
}

/* The current process's pid in its own namespace if that is nested in user space's, otherwise 0. */
static __noinline __u32 inner_number(void)
{
	struct pid *pid = BPF_CORE_READ(bpf_get_current_task_btf(), signal, pids[PIDTYPE_TGID]);
	__u64 level = BPF_CORE_READ(pid, level);
	__u64 place = bpf_core_field_offset(struct pid, numbers) +
		      level * bpf_core_type_size(struct upid);
	struct upid number = {};

	if (!level || bpf_core_read(&number, sizeof(number), (void *)pid + place))
		return 0;
	return BPF_CORE_READ(number.ns, ns.inum) == config_pid_namespace ? 0 : number.nr;
}

/* The current process id; cheaper if the caller already has the task. */
static __always_inline __u32 process_of(const struct task_struct *task)
{
	return config_pid_namespace ? thread_in_namespace() >> 32 : task->tgid;
}

#endif
