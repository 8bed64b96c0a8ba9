/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What had no room in the ring buffer, and must not be lost: it waits in a map until user space
 * comes to read.
 *
 * - Births: a process whose birth is lost would be lost with all its calls. User space finds it
 *   when it meets a record of somebody that it does not know.
 * - Execs, and leaving the selection: the old image's blocks would live on in the books. Whoever
 *   has such a one waiting is told nothing more of, as if there were no room, so nothing that the
 *   new image does comes before it. What is lost meanwhile is counted.
 * - Mappings: that there were some. User space reads them from /proc.
 */
#ifndef MTRACE_BPF_UNTOLD_BPF_H
#define MTRACE_BPF_UNTOLD_BPF_H

#define EEXIST 17

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BIRTHS_UNTOLD);
	__type(key, __u32);
	__type(value, struct record_fork);
} untold_births SEC(".maps");

__u32 untold_birth_count; /* ever */

/* Where there is no room for it either, nobody shall wait for what it does. */
static __always_inline void keep_birth(const struct record_fork *record)
{
	__u32 pid = record->head.pid;

	if (bpf_map_update_elem(&untold_births, &pid, record, BPF_ANY)) {
		bpf_map_delete_elem(&processes, &pid);
		count_loss(LOSS_CHILDREN);
		return;
	}
	__sync_fetch_and_add(&untold_birth_count, 1);
}

/* Also struct record_exit, of RECORD_LEAVE. Complete when the length is not 0. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EXECS_UNTOLD);
	__type(key, __u32);
	__type(value, struct record_exec);
} untold_execs SEC(".maps");

__u32 execs_waiting; /* user space counts down */

static __always_inline int exec_waits(void)
{
	__u32 pid = thread_id() >> 32;

	return bpf_map_lookup_elem(&untold_execs, &pid) != NULL;
}

/* What comes later than its exec must not be told before it. */
static __always_inline int must_wait(void)
{
	return execs_waiting && exec_waits();
}

/* To be filled, and then told by exec_kept; NULL: it is lost. One that waits already is of an image
 * of which nothing was told: that one is lost. */
static __noinline struct record_exec *exec_keep(void)
{
	static const struct record_exec nothing;
	__u32 pid = thread_id() >> 32;
	long err = bpf_map_update_elem(&untold_execs, &pid, &nothing, BPF_NOEXIST);

	if (!err)
		__sync_fetch_and_add(&execs_waiting, 1);
	else
		count_loss(LOSS_EVENTS);
	if (err == -EEXIST)
		bpf_map_update_elem(&untold_execs, &pid, &nothing, BPF_EXIST);
	return bpf_map_lookup_elem(&untold_execs, &pid);
}

static __always_inline void exec_kept(struct record_exec *record)
{
	__sync_fetch_and_add(&record->head.length, sizeof(*record));
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAPPINGS_UNTOLD);
	__type(key, __u32);
	__type(value, __u64); /* since when */
} untold_mappings SEC(".maps");

__u32 untold_mapping_count; /* ever */

static __always_inline int keep_mappings(void)
{
	__u32 pid = thread_id() >> 32;
	__u64 now = bpf_ktime_get_ns();
	long err = bpf_map_update_elem(&untold_mappings, &pid, &now, BPF_NOEXIST);

	if (!err)
		__sync_fetch_and_add(&untold_mapping_count, 1);
	else if (err != -EEXIST)
		count_loss(LOSS_EVENTS);
	return 0;
}

#endif
