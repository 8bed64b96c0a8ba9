/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deferred records: what did not fit into the ring buffer but must not be dropped waits in a map
 * until user space reads it.
 *
 * - Forks: without its fork, a process and all its calls would be lost. User space looks for the
 *   fork when it receives a record of an unknown process.
 * - Execs, and leaving the selection: otherwise the blocks of the old image would stay in the
 *   model. While a process has one of these deferred, its further records are dropped, as if there
 *   were no room, so that nothing of the new image comes before it. They are counted as losses.
 * - Mappings: only the fact that there were some. User space reads them from /proc.
 */
#ifndef MTRACE_BPF_DEFERRED_BPF_H
#define MTRACE_BPF_DEFERRED_BPF_H

#define EEXIST 17

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FORKS_DEFERRED);
	__type(key, __u32);
	__type(value, struct record_fork);
} deferred_forks SEC(".maps");

__u32 deferred_fork_count; /* total */

/* If there is no room for it either, do not trace the process. */
static __always_inline void keep_fork(const struct record_fork *record)
{
	__u32 pid = record->head.pid;

	if (bpf_map_update_elem(&deferred_forks, &pid, record, BPF_ANY)) {
		bpf_map_delete_elem(&processes, &pid);
		count_loss(LOSS_CHILDREN);
		return;
	}
	__sync_fetch_and_add(&deferred_fork_count, 1);
}

/* For RECORD_LEAVE this is a struct record_exit. Complete when the length is not 0. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EXECS_DEFERRED);
	__type(key, __u32);
	__type(value, struct record_exec);
} deferred_execs SEC(".maps");

__u32 execs_waiting; /* user space decrements it */

static __always_inline int exec_waits(void)
{
	__u32 pid = thread_id() >> 32;

	return bpf_map_lookup_elem(&deferred_execs, &pid) != NULL;
}

/* Returns true if records must be dropped because they would precede their deferred exec. */
static __always_inline int must_wait(void)
{
	return execs_waiting && exec_waits();
}

/* Returns a record to fill and pass to exec_store(), or NULL if it is dropped. One that is already
 * deferred belongs to an image without any records, and is dropped instead. */
static __noinline struct record_exec *exec_slot(void)
{
	static const struct record_exec nothing;
	__u32 pid = thread_id() >> 32;
	long err = bpf_map_update_elem(&deferred_execs, &pid, &nothing, BPF_NOEXIST);

	if (!err)
		__sync_fetch_and_add(&execs_waiting, 1);
	else
		count_loss(LOSS_EVENTS);
	if (err == -EEXIST)
		bpf_map_update_elem(&deferred_execs, &pid, &nothing, BPF_EXIST);
	return bpf_map_lookup_elem(&deferred_execs, &pid);
}

static __always_inline void exec_store(struct record_exec *record)
{
	__sync_fetch_and_add(&record->head.length, sizeof(*record));
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAPPINGS_DEFERRED);
	__type(key, __u32);
	__type(value, __u64); /* time of the first one */
} deferred_mappings SEC(".maps");

__u32 deferred_mapping_count; /* total */

static __always_inline int keep_mappings(void)
{
	__u32 pid = thread_id() >> 32;
	__u64 now = bpf_ktime_get_ns();
	long err = bpf_map_update_elem(&deferred_mappings, &pid, &now, BPF_NOEXIST);

	if (!err)
		__sync_fetch_and_add(&deferred_mapping_count, 1);
	else if (err != -EEXIST)
		count_loss(LOSS_EVENTS);
	return 0;
}

#endif
