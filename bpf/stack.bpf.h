/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks. A stack is identified by a 64-bit hash of its frames, the process and its image. The
 * frames are sent once, before the first event that refers to them. `stacks_seen` evicts the least
 * recently used ids: a stack may be sent again, which is harmless. An id is only added after the
 * ring buffer has accepted the frames, so a stack that finds it comes later in the order.
 *
 * Stacks start at the direct caller of an allocation function, with the registers that it has once
 * the call has returned: exact, whatever the compiler did. The other frames are found by tables
 * (unwind.bpf.h) or by frame pointers (bpf_get_stack).
 *
 * Uprobe programs can be preempted (Linux 6.0), so the frames are collected in per-thread memory.
 */
#ifndef MTRACE_BPF_STACK_BPF_H
#define MTRACE_BPF_STACK_BPF_H

#include "bpf/unwind.bpf.h"

#define STACK_SEEN_MAX 262144

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

static __always_inline __u64 hash_start(const struct task_struct *task)
{
	__u64 image = hash_step(task->tgid, task->self_exec_id);

	return hash_step(image, this_task()->group_leader->start_time); /* pids are reused */
}

static __always_inline __u64 hash_end(__u64 hash, __u32 count)
{
	return hash_step(hash, count) | 1; /* 0 means none */
}

static __always_inline __u64 hash_frames(const struct stack_buffer *buffer, __u64 hash, __u32 count)
{
	for (__u32 i = 0; i < STACK_MAX_FRAMES; i++) {
		if (i >= count)
			break;
		hash = hash_step(hash, buffer->frames[i]);
	}
	return hash_end(hash, count);
}

#include "bpf/stack_dump.bpf.h"

/* Sends the frames unless they have been sent. Returns 0, or -1 if they could not be sent. */
static __noinline int send_stack(struct stack_buffer *buffer, __u64 id, __u32 count)
{
	__u64 length = sizeof(struct record_stack) + count * sizeof(__u64);
	__u16 flags = buffer ? buffer->record.head.flags : 0;
	__u32 one = 1;

	if (!buffer || bpf_map_lookup_elem(&stacks_seen, &id))
		return 0;
	if (length > sizeof(buffer->record) + sizeof(buffer->frames))
		return -1;
	fill_head(&buffer->record.head, RECORD_STACK, 0, length);
	buffer->record.head.flags = flags;
	buffer->record.id = id;
	buffer->record.count = count;
	if (must_wait() || bpf_ringbuf_output(&events, buffer, length, wake_flags()))
		return -1;
	bpf_map_update_elem(&stacks_seen, &id, &one, BPF_ANY);
	return 0;
}

/* The benchmark sets it to 0 to measure the walk only. */
#ifndef HAND_OVER
#define HAND_OVER 1
#endif

/*
 * The number of frames, found by frame pointers, before the first one that is not an address: if a
 * function uses the register for something else, what follows is not a stack.
 */
static __always_inline __u32 plausible_frames(const struct stack_buffer *buffer, __u32 count)
{
	for (__u32 i = 1; i < STACK_MAX_FRAMES; i++) {
		if (i >= count)
			break;
		if (buffer->frames[i] - LOWEST_CODE >= REGS_USER_END - LOWEST_CODE)
			return i;
	}
	return count;
}

/* Walks by frame pointers. Returns the number of frames, 0 if there is no stack. At an exit probe,
 * the kernel's first frame is the probed instruction rather than the caller. */
static __always_inline __u32 stack_by_pointers(void *context, const struct caller_frame *from,
					       const struct task_struct *task,
					       struct stack_buffer *buffer, __u64 *ret_id)
{
	long size = bpf_get_stack(context, buffer->frames, config_depth * sizeof(__u64),
				  BPF_F_USER_STACK);
	__u32 count;

	if (size < (long)sizeof(__u64) || size > (long)sizeof(buffer->frames))
		return 0;
	buffer->frames[0] = from->ip;
	count = plausible_frames(buffer, size / sizeof(__u64));
	buffer->record.head.flags = 0;
	buffer->record.stop = count >= config_depth ? STOP_DEPTH : STOP_UNKNOWN;
	*ret_id = hash_frames(buffer, hash_start(task), count);
	return count;
}

static __always_inline __u32 stack_by_tables(const struct caller_frame *from,
					     const struct task_struct *task,
					     struct stack_buffer *buffer, __u64 *ret_id)
{
	__u32 count;

	walk_start(buffer, from, *code_generation_of(process_of(task)), hash_start(task));
	buffer->record.stop = walk(buffer);
	count = buffer->count;
	*ret_id = hash_end(buffer->hash, count);
	return count;
}

/* Returns the id of the stack that starts at a frame, or 0 if stacks are off or it was dropped (and
 * counted). */
static __always_inline __u64 take_stack(void *context, const struct caller_frame *from)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_buffer *buffer;
	__u64 id = 0, dump;
	__u32 count;

	if (!config_depth || config_depth > STACK_MAX_FRAMES)
		return 0;
	buffer = bpf_task_storage_get(&stack_buffers, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!buffer)
		goto lost;
	count = config_unwind ? stack_by_tables(from, task, buffer, &id)
			      : stack_by_pointers(context, from, task, buffer, &id);
	if (is_for_user_space(buffer->record.stop)) {
		dump = send_stack_dump(buffer);
		if (dump)
			return dump;
	}
	if (!count || (HAND_OVER && send_stack(buffer, id, count)))
		goto lost;
	return id;
lost:
	count_loss(LOSS_STACKS);
	return 0;
}

/* The same at the entry of a function; `caller` is its return address. */
static __always_inline __u64 take_entry_stack(struct pt_regs *regs, __u64 caller)
{
	struct caller_frame from = {
		.ip = caller,
		.sp = regs_sp(regs) + regs_return_pops(regs),
		.bp = regs_bp(regs),
		.word = regs_word(regs),
	};

	if (is_return_trampoline(caller))
		from.ip = return_behind_probe(regs_sp(regs));
	return take_stack(regs, &from);
}

#endif
