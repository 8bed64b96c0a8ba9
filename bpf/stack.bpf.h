/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks. A stack is known by a 64-bit hash of its return addresses, of the process and of its
 * image; the frames are sent once, before the first event that names them. `seen` forgets the
 * least recently used: a stack may be sent again, which harms nothing. It is told of a stack only
 * after the ring buffer has taken it, so that whoever finds it there comes later in the order.
 *
 * Frames are taken at the return of an allocation function: the instruction pointer is then the
 * return address in the direct caller, exact whatever the compiler did; the frames behind it are
 * what frame pointers give (bpf_get_stack).
 *
 * Uprobe programs can be preempted (Linux 6.0), so the frames are gathered in memory of the
 * thread's own.
 */
#ifndef MTRACE_BPF_STACK_BPF_H
#define MTRACE_BPF_STACK_BPF_H

#define STACK_SEEN_MAX   262144
#define LOWEST_CODE      0x10000ULL
#define USER_ADDRESS_END (1ULL << 47)

struct stack_buffer {
	struct record_stack record;
	__u64 frames[STACK_MAX_FRAMES + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stack_buffer);
} stack_buffers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STACK_SEEN_MAX);
	__type(key, __u64);
	__type(value, __u32);
} stacks_seen SEC(".maps");

/* Multiply and fold, two rounds a word (constants of MurmurHash3's finaliser). */
static __always_inline __u64 hash_step(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
	return hash ^ hash >> 32;
}

static __always_inline __u64 hash_frames(const struct stack_buffer *buffer, __u32 count)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 hash = hash_step(bpf_get_current_pid_tgid() >> 32, task->self_exec_id);

	for (__u32 i = 0; i < STACK_MAX_FRAMES; i++) {
		if (i >= count)
			break;
		hash = hash_step(hash, buffer->frames[i]);
	}
	return hash_step(hash, count) | 1; /* 0 means none */
}

/* Send the frames, unless that was done. Returns 0, or -1 if they could not be sent. */
static __noinline int send_stack(struct stack_buffer *buffer, __u64 id, __u32 count)
{
	__u64 length = sizeof(struct record_stack) + count * sizeof(__u64);
	__u32 one = 1;

	if (!buffer || bpf_map_lookup_elem(&stacks_seen, &id))
		return 0;
	if (length > sizeof(*buffer))
		return -1;
	fill_head(&buffer->record.head, RECORD_STACK, 0, length);
	buffer->record.id = id;
	buffer->record.count = count;
	buffer->record.stop = count >= config_depth ? STOP_DEPTH : STOP_UNKNOWN;
	if (bpf_ringbuf_output(&events, buffer, length, wake_flags()))
		return -1;
	bpf_map_update_elem(&stacks_seen, &id, &one, BPF_ANY);
	return 0;
}

/*
 * Of frames found by frame pointers, those before the first that is no address at all: where a
 * function uses that register for something else, what follows is not a stack.
 */
static __always_inline __u32 plausible_frames(const struct stack_buffer *buffer, __u32 count)
{
	for (__u32 i = 1; i < STACK_MAX_FRAMES; i++) {
		if (i >= count)
			break;
		if (buffer->frames[i] - LOWEST_CODE >= USER_ADDRESS_END - LOWEST_CODE)
			return i;
	}
	return count;
}

/* The id of the present stack, or 0 if stacks are off or it was lost (counted). */
static __always_inline __u64 take_stack(void *context)
{
	struct stack_buffer *buffer;
	__u32 want = config_depth, count;
	__u64 id;
	long size;

	if (!want || want > STACK_MAX_FRAMES)
		return 0;
	buffer = bpf_task_storage_get(&stack_buffers, bpf_get_current_task_btf(), NULL,
				      BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!buffer)
		goto lost;
	size = bpf_get_stack(context, buffer->frames, want * sizeof(__u64), BPF_F_USER_STACK);
	if (size < (long)sizeof(__u64) || size > (long)sizeof(buffer->frames))
		goto lost;
	count = plausible_frames(buffer, size / sizeof(__u64));
	id = hash_frames(buffer, count);
	if (send_stack(buffer, id, count))
		goto lost;
	return id;
lost:
	count_loss(LOSS_STACKS);
	return 0;
}

#endif
