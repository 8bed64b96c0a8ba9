/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is running: process and thread, as user space numbers them. In the first pid namespace that
 * is what the kernel's helper tells. A tracer that lives in another one (a container) sees other
 * numbers in its /proc; bpf_get_ns_current_pid_tgid() tells them only for tasks of that very
 * namespace, but what is traced may live in one further inside. So the number is looked up where
 * the kernel keeps it: struct pid has one for each level of nesting.
 */
#ifndef MTRACE_BPF_THREAD_BPF_H
#define MTRACE_BPF_THREAD_BPF_H

#define PID_LEVELS 33 /* MAX_PID_NS_LEVEL, and the first */

/* The number in the tracer's namespace; 0 for what lives outside of it. */
static __noinline __u32 pid_number(struct pid *pid)
{
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid number;

	for (__u32 i = 0; i < PID_LEVELS && i <= level; i++) {
		/* From the innermost, which is the tracer's own, nearly always. */
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

/* The process of another task. */
static __always_inline __u32 process_number(struct task_struct *task)
{
	if (config_pid_namespace)
		return pid_number(BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]));
	return BPF_CORE_READ(task, tgid);
}

/* The present process's own number, in a pid namespace further inside than user space's; or 0. */
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

/* The present process, at less cost for who has the task at hand. */
static __always_inline __u32 process_of(const struct task_struct *task)
{
	return config_pid_namespace ? thread_in_namespace() >> 32 : task->tgid;
}

#endif
