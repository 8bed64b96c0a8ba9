/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stack dumps: if a walk cannot continue in the kernel, but user space can continue it, user space
 * gets what it needs: the frames so far, the registers, and a copy of part of the stack. This
 * happens for frames interrupted by a signal, for code whose table is not ready, and while another
 * thread changes the mappings.
 *
 * A stack dump is a hundred times larger than other records, and before unwinding it is unknown
 * whether two of them are the same stack. So the number of stack dumps per second is limited, and
 * none are sent when the ring buffer is half full: it is there for events. A stack without its
 * stack dump ends where the walk did, with the reason.
 */
#ifndef MTRACE_BPF_STACK_DUMP_BPF_H
#define MTRACE_BPF_STACK_DUMP_BPF_H

#define STACK_DUMP_PAGE       4096
#define STACK_DUMPS_IN_SECOND 4000
#define SECOND_NS             1000000000ULL

#define STACK_DUMP_BUFFERS 16 /* number of threads that can build one at the same time */

struct stack_dump_buffer {
	struct record_stack_dump record;
	__u8 bytes[STACK_DUMP_BYTES];
	__u32 taken;
	__u32 pad;
};

/* Not in task storage: Linux 7 limits its values to two pages. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACK_DUMP_BUFFERS);
	__type(key, __u32);
	__type(value, struct stack_dump_buffer);
} stack_dump_buffers SEC(".maps");

/* Returns an unused buffer, or NULL if there is none. */
static __always_inline struct stack_dump_buffer *stack_dump_take(void)
{
	for (__u32 i = 0; i < STACK_DUMP_BUFFERS; i++) {
		__u32 number = i;
		struct stack_dump_buffer *dump = bpf_map_lookup_elem(&stack_dump_buffers, &number);

		if (!dump || !__sync_lock_test_and_set(&dump->taken, 1))
			return dump;
	}
	return NULL;
}

static __always_inline void stack_dump_give_back(struct stack_dump_buffer *dump)
{
	__sync_lock_test_and_set(&dump->taken, 0);
}

/* Not atomic: the limit need not be exact. */
static __u64 stack_dump_second;
static __u32 stack_dump_count;

static __always_inline int is_stack_dump_allowed(void)
{
	__u64 second = clock_now() / SECOND_NS;

	if (second != stack_dump_second) {
		stack_dump_second = second;
		stack_dump_count = 0;
	}
	return stack_dump_count++ < STACK_DUMPS_IN_SECOND &&
	       bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < config_stack_dump_room;
}

static __always_inline int is_for_user_space(__u32 stop)
{
	return stop == STOP_SIGNAL || stop == STOP_LATE || stop == STOP_BUSY;
}

/* Provided by the including file: reports the mapping that contains an address. */
static int send_mapping_at(__u64 address);

/* Copies the stack from sp to the end of its page, and the following pages as far as they are
 * readable. */
static __noinline __u64 read_stack_dump(struct stack_dump_buffer *dump, __u64 sp)
{
	__u64 size = 0, piece = STACK_DUMP_PAGE - (sp & (STACK_DUMP_PAGE - 1));

	if (!dump)
		return 0;
	for (int i = 0; i < STACK_DUMP_PAGES; i++) {
		if (size > STACK_DUMP_BYTES - STACK_DUMP_PAGE || piece > STACK_DUMP_PAGE ||
		    bpf_probe_read_user(dump->bytes + size, piece, (void *)(sp + size)))
			break;
		size += piece;
		piece = STACK_DUMP_PAGE;
	}
	return size;
}

static __always_inline __u64 stack_dump_send(struct stack_dump_buffer *dump,
					     struct stack_buffer *buffer)
{
	__u64 size, id;

	load_bp(buffer, &buffer->frame); /* it is saved below the copied part */
	size = read_stack_dump(dump, buffer->frame.sp);
	if (!size || size > STACK_DUMP_BYTES)
		return 0;
	if (buffer->record.stop == STOP_LATE)
		send_mapping_at(buffer->frame.ip);
	id = hash_end(hash_step(buffer->hash, bpf_ktime_get_ns()), buffer->count);
	fill_head(&dump->record.head, RECORD_STACK_DUMP, 0, sizeof(dump->record) + size);
	dump->record.head.flags = buffer->record.head.flags;
	if (is_32bit(buffer))
		dump->record.head.flags |= RECORD_FLAG_32BIT;
	dump->record.id = id;
	dump->record.count = buffer->count;
	dump->record.stop = buffer->record.stop;
	dump->record.ip = buffer->frame.ip;
	dump->record.sp = buffer->frame.sp;
	dump->record.bp = buffer->frame.bp;
	dump->record.bp_place = buffer->frame.bp_place;
	dump->record.size = size;
	bpf_probe_read_kernel(dump->record.frames, sizeof(buffer->frames), buffer->frames);
	walk_save_link(buffer, &buffer->whole, &dump->record.frames[STACK_DUMP_LINK]);
	if (must_wait() ||
	    bpf_ringbuf_output(&events, dump, sizeof(dump->record) + size, wake_flags()))
		return 0;
	return id;
}

/* Sends what user space needs to finish the buffer's stack. Returns its id, or 0. */
__noinline __u64 send_stack_dump(struct stack_buffer *buffer)
{
	struct stack_dump_buffer *dump;
	__u64 id;

	if (!buffer || self_testing || !is_stack_dump_allowed())
		return 0;
	dump = stack_dump_take();
	if (!dump)
		return 0;
	id = stack_dump_send(dump, buffer);
	stack_dump_give_back(dump);
	return id;
}

#endif
