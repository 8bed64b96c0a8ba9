/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pending calls of a thread (struct thread_calls): in task storage, or in a hash map. */
#ifndef MTRACE_BPF_PENDING_BPF_H
#define MTRACE_BPF_PENDING_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_calls);
} calls_by_task SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct thread_calls);
} calls_by_tid SEC(".maps");

/* Not on the stack: a chain of calls has only 512 bytes of stack. */
static struct thread_calls no_calls;

static __always_inline struct thread_calls *thread_by_tid(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct thread_calls *thread = bpf_map_lookup_elem(&calls_by_tid, &tid);

	if (thread)
		return thread;
	bpf_map_update_elem(&calls_by_tid, &tid, &no_calls, BPF_NOEXIST);
	return bpf_map_lookup_elem(&calls_by_tid, &tid);
}

static __always_inline struct thread_calls *thread_calls(void)
{
	if (config_pairing == PAIRING_HASH)
		return thread_by_tid();
	return bpf_task_storage_get(&calls_by_task, bpf_get_current_task_btf(), NULL,
				    BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Set by user space with the first exit probe. Otherwise sessions need no state per thread. */
__u32 exits_watched;

static __always_inline struct thread_calls *exit_calls(void)
{
	if (!exits_watched)
		return NULL;
	return bpf_task_storage_get(&calls_by_task, bpf_get_current_task_btf(), NULL, 0);
}

#endif
