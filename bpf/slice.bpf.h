/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slices: if a walk cannot continue in the kernel, but user space can continue it, user space gets
 * what it needs: the frames so far, the registers, and a copy of part of the stack. This happens
 * for frames interrupted by a signal, for code whose table is not ready, and while another thread
 * changes the mappings.
 *
 * A slice is a hundred times larger than other records, and before unwinding it is unknown whether
 * two of them are the same stack. So the number of slices per second is limited, and none are sent
 * when the ring buffer is half full: it is there for events. A stack without its slice ends where
 * the walk did, with the reason.
 */
#ifndef MTRACE_BPF_SLICE_BPF_H
#define MTRACE_BPF_SLICE_BPF_H

#define SLICE_PAGE       4096
#define SLICES_IN_SECOND 4000
#define SECOND_NS        1000000000ULL

#define SLICE_BUFFERS 16 /* number of threads that can build one at the same time */

struct slice_buffer {
	struct record_slice record;
	__u8 bytes[SLICE_BYTES];
	__u32 taken;
	__u32 pad;
};

/* Not in task storage: Linux 7 limits its values to two pages. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLICE_BUFFERS);
	__type(key, __u32);
	__type(value, struct slice_buffer);
} slice_buffers SEC(".maps");

/* Returns an unused buffer, or NULL if there is none. */
static __always_inline struct slice_buffer *slice_take(void)
{
	for (__u32 i = 0; i < SLICE_BUFFERS; i++) {
		__u32 number = i;
		struct slice_buffer *slice = bpf_map_lookup_elem(&slice_buffers, &number);

		if (!slice || !__sync_lock_test_and_set(&slice->taken, 1))
			return slice;
	}
	return NULL;
}

static __always_inline void slice_give_back(struct slice_buffer *slice)
{
	__sync_lock_test_and_set(&slice->taken, 0);
}

/* Not atomic: the limit need not be exact. */
static __u64 slice_second;
static __u32 slice_count;

static __always_inline int is_slice_allowed(void)
{
	__u64 second = clock_now() / SECOND_NS;

	if (second != slice_second) {
		slice_second = second;
		slice_count = 0;
	}
	return slice_count++ < SLICES_IN_SECOND &&
	       bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < config_slice_room;
}

static __always_inline int is_for_user_space(__u32 stop)
{
	return stop == STOP_SIGNAL || stop == STOP_LATE || stop == STOP_BUSY;
}

/* Provided by the including file: reports the mapping that contains an address. */
static int send_mapping_at(__u64 address);

/* Copies the stack from sp to the end of its page, and the following pages as far as they are
 * readable. */
static __noinline __u64 read_slice(struct slice_buffer *slice, __u64 sp)
{
	__u64 size = 0, piece = SLICE_PAGE - (sp & (SLICE_PAGE - 1));

	if (!slice)
		return 0;
	for (int i = 0; i < SLICE_PAGES; i++) {
		if (size > SLICE_BYTES - SLICE_PAGE || piece > SLICE_PAGE ||
		    bpf_probe_read_user(slice->bytes + size, piece, (void *)(sp + size)))
			break;
		size += piece;
		piece = SLICE_PAGE;
	}
	return size;
}

static __always_inline __u64 slice_send(struct slice_buffer *slice, struct stack_buffer *buffer)
{
	__u64 size, id;

	load_bp(buffer, &buffer->frame); /* it is saved below the copied part */
	size = read_slice(slice, buffer->frame.sp);
	if (!size || size > SLICE_BYTES)
		return 0;
	if (buffer->record.stop == STOP_LATE)
		send_mapping_at(buffer->frame.ip);
	id = hash_end(hash_step(buffer->hash, bpf_ktime_get_ns()), buffer->count);
	fill_head(&slice->record.head, RECORD_SLICE, 0, sizeof(slice->record) + size);
	slice->record.head.flags = buffer->record.head.flags;
	if (is_narrow(buffer))
		slice->record.head.flags |= RECORD_FLAG_NARROW;
	slice->record.id = id;
	slice->record.count = buffer->count;
	slice->record.stop = buffer->record.stop;
	slice->record.ip = buffer->frame.ip;
	slice->record.sp = buffer->frame.sp;
	slice->record.bp = buffer->frame.bp;
	slice->record.bp_place = buffer->frame.bp_place;
	slice->record.size = size;
	bpf_probe_read_kernel(slice->record.frames, sizeof(buffer->frames), buffer->frames);
	walk_tell_link(buffer, &buffer->whole, &slice->record.frames[SLICE_LINK]);
	if (must_wait() ||
	    bpf_ringbuf_output(&events, slice, sizeof(slice->record) + size, wake_flags()))
		return 0;
	return id;
}

/* Sends what user space needs to finish the buffer's stack. Returns its id, or 0. */
__noinline __u64 send_slice(struct stack_buffer *buffer)
{
	struct slice_buffer *slice;
	__u64 id;

	if (!buffer || self_testing || !is_slice_allowed())
		return 0;
	slice = slice_take();
	if (!slice)
		return 0;
	id = slice_send(slice, buffer);
	slice_give_back(slice);
	return id;
}

#endif
