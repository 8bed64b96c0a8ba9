/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks a stack by unwind tables (arch/unwind.h), from the caller of an allocation function to the
 * outermost frame.
 *
 * For each frame: look up its return address in the thread's cache, which usually has its row.
 * Otherwise find the mapping that contains its code, and so the file and the offset in it; then, by
 * the page of the file, a few candidate rows; among them, the row. Then take one step. User space
 * stores the rows and pages before it adds the file to `unwind_files`, and never moves them
 * (user/source/unwind/tables.h).
 *
 * The walk reads the stack through a window of 2 KiB that moves up with it: reading that much at
 * once costs no more than reading a word.
 *
 * Without a table, one frame pointer is accepted if it points a short way up the stack and the
 * return address there points into code; the record says so.
 *
 * A few steps at a time are a global function, which the verifier checks once, rather than for each
 * of 127 frames. It gets the thread's buffer as an argument: memory of a known size.
 *
 * Cost: half to two thirds of bpf_get_stackid (make bench).
 */
#ifndef MTRACE_BPF_UNWIND_BPF_H
#define MTRACE_BPF_UNWIND_BPF_H

#include "bpf/step.bpf.h"

#define WINDOW_REACH     (1 << 20) /* larger distances are to another stack */
#define WINDOW_WORDS     256       /* a power of two */
#define STACK_PAGE       4096
#define ROW_SLOTS        128 /* per thread; a power of two */
#define MAPPING_SLOTS    16  /* the same */
#define ROW_SEARCH_STEPS 11  /* more than log2 of the rows per page */
#define WALK_FRAMES      8
#define RETURN_LIST_MAX  64 /* MAX_URETPROBE_DEPTH of kernel/events/uprobes.c */

/* The cached row of a return address, in code with a table. */
struct known_row {
	__u64 ip;
	__u64 row;  /* struct unwind_row, as one word */
	__u64 word; /* for the hash: file and offset */
	__u64 generation;
};

struct stack_buffer {
	struct record_stack record;
	__u64 frames[STACK_MAX_FRAMES + 1];
	/* Not sent: */
	union {
		struct unwind_frame frame;
		struct walk_frame whole; /* what the step of this processor needs */
	};
	__u64 hash;
	__u64 window_start; /* address */
	__u64 window_size;  /* bytes; 0 if there is no window */
	__u64 wall;         /* address at which a window failed: the end of a stack */
	__u64 window[WINDOW_WORDS];
	__u32 count;
	__u32 generation;
	__u32 slot; /* of the mapping found last */
	__u32 word; /* bytes of a stack slot: 4 for 32-bit code */
	struct code_mapping mappings[MAPPING_SLOTS];
	struct known_row rows[ROW_SLOTS];
};

/* Two pages, including the kernel's header. Larger allocations often fail, and then the stack would
 * be lost. */
_Static_assert(sizeof(struct stack_buffer) <= 8192 - 128, "too large for a thread");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_row);
} unwind_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_page);
} unwind_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, UNWIND_FILE_MAX);
	__type(key, struct unwind_file_key);
	__type(value, struct unwind_file);
} unwind_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, UNWIND_EXACT_MAX);
	__type(key, struct unwind_exact_key);
	__type(value, struct unwind_row);
} unwind_exact SEC(".maps");

/* Multiply and fold (the constant is of MurmurHash3's finaliser). */
static __always_inline __u64 hash_step(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
	return hash ^ hash >> 32;
}

#include "bpf/code.bpf.h"

/*
 * Rows.
 */

#define ROW_GAP ((__u64)UNWIND_CFA_GAP << 48) /* struct unwind_row of a gap, as one word */

/* The row that covers an offset in a page, as one word. */
__noinline __u64 row_search(__u32 page, __u32 offset)
{
	struct unwind_page *range = bpf_map_lookup_elem(&unwind_pages, &page);
	struct unwind_row *row;
	__u32 low, high, middle;

	if (!range)
		return ROW_GAP;
	low = range->first;
	high = range->last;
	for (int i = 0; i < ROW_SEARCH_STEPS && low < high; i++) {
		middle = high - (high - low) / 2;
		row = bpf_map_lookup_elem(&unwind_rows, &middle);
		if (!row)
			return ROW_GAP;
		if (row->offset <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	row = bpf_map_lookup_elem(&unwind_rows, &low);
	return row && row->offset <= offset ? *(__u64 *)row : ROW_GAP;
}

static __always_inline __u64 row_of(const struct code_mapping *mapping, __u64 offset)
{
	__u64 page = (offset >> UNWIND_PAGE_SHIFT) - mapping->file.first_page;

	if (!mapping->file.pages || page >= mapping->file.page_count)
		return ROW_GAP;
	return row_search(mapping->file.pages + page, offset);
}

/*
 * Steps.
 */

/*
 * Moves the window up to an address. Reading costs the same for any size but, if it reaches past
 * the end of the stack, it costs a fault. So that place is remembered as the wall, and the next
 * windows end there. Another stack may start right after a wall.
 */
__noinline int window_move(struct stack_buffer *buffer, __u64 address)
{
	__u64 size;

	if (!buffer)
		return -1;
	size = ((buffer->wall - address) & -8LL) - 8;
	if (size > sizeof(buffer->window) - 8)
		size = sizeof(buffer->window) - 8;
	asm volatile("" : "+r"(size)); /* otherwise the verifier loses the bound */
	size += 8;
	buffer->window_start = address;
	buffer->window_size = size;
	if (!bpf_probe_read_user(buffer->window, size, (void *)address))
		return 0;
	buffer->wall = (address & ~(STACK_PAGE - 1ULL)) + STACK_PAGE;
	buffer->window_size = 0;
	return -1;
}

/* Addresses above the window move it, as the walk goes up. Addresses below it are registers that
 * were saved earlier. */
static __always_inline int read_wide(struct stack_buffer *buffer, __u64 address, __u64 *ret_word)
{
	__u64 distance = address - buffer->window_start, index = distance >> 3;

	if (distance & 7 || distance >= WINDOW_REACH)
		return read_far(address, ret_word);
	if (distance >= buffer->window_size) {
		if (window_move(buffer, address))
			return read_far(address, ret_word);
		index = 0;
	}
	asm volatile("" : "+r"(index)); /* keep the mask that the verifier needs */
	*ret_word = buffer->window[index & (WINDOW_WORDS - 1)];
	return 0;
}

/* Half a word of the window, which starts at a multiple of 8 for these stacks. */
static __always_inline int read_half(struct stack_buffer *buffer, __u64 address, __u64 *ret_word)
{
	__u64 word = 0;

	if (address & 3) {
		*ret_word = read_32bit(address);
		return *ret_word == READ_FAILED ? -1 : 0;
	}
	if (read_wide(buffer, address & ~7ULL, &word))
		return -1;
	*ret_word = (__u32)(word >> (address & 4) * 8);
	return 0;
}

/* Inlined, so that `abi` is a constant. */
static __always_inline int unwind_read(void *ctx, const struct unwind_abi *abi, abi_u64 address,
				       abi_u64 *ret_word)
{
	return abi->word == 4 ? read_half(ctx, address, ret_word)
			      : read_wide(ctx, address, ret_word);
}

static __always_inline int is_32bit(const struct stack_buffer *buffer)
{
	return buffer->word == 4;
}

static __always_inline enum unwind_result step_by(struct stack_buffer *buffer,
						  const struct unwind_row *row)
{
	return is_32bit(buffer) ? walk_step(buffer, &REGS_UNWIND_ABI_32BIT, row, &buffer->whole)
				: walk_step(buffer, &REGS_UNWIND_ABI, row, &buffer->whole);
}

/* Used outside of the walk, which has a copy for 64-bit and one for 32-bit code. */
__noinline int step_by_word(struct stack_buffer *buffer, __u64 word)
{
	struct unwind_row row;

	*(__u64 *)&row = word;
	return buffer ? step_by(buffer, &row) : UNWIND_NO_TABLE;
}

static __always_inline enum unwind_result load_bp(struct stack_buffer *buffer,
						  struct unwind_frame *frame)
{
	return is_32bit(buffer) ? unwind_load_bp(buffer, &REGS_UNWIND_ABI_32BIT, frame)
				: unwind_load_bp(buffer, &REGS_UNWIND_ABI, frame);
}

/* The original return address at `place`, which a return probe has replaced; 0 if unknown. If there
 * are several probes at one place, the oldest one has the original address. */
__noinline __u64 return_behind_probe(__u64 place)
{
	struct task_struct *task = this_task();
	struct return_instance *instance = task->utask ? task->utask->return_instances : NULL;
	__u64 address = 0;

	for (int i = 0; i < RETURN_LIST_MAX && instance; i++) {
		if (instance->stack == place)
			address = instance->orig_ret_vaddr;
		instance = instance->next;
	}
	return address;
}

static int is_return_trampoline(__u64 address);

#if REGS_GUESSES

/*
 * Returns true if a return address found by a frame pointer is plausible for code without a table.
 * If its call names the callee, that must also be code without a table: otherwise the frame pointer
 * was left in its register by an outer caller. Indirect calls are always plausible.
 */
__noinline int is_plausible_return(struct stack_buffer *buffer, __u64 ip)
{
	const struct code_mapping *mapping;
	struct unwind_row row;
	__u64 word = 0;

	if (!buffer || bpf_probe_read_user(&word, sizeof(word), (void *)(ip - sizeof(word))))
		return 0;
	if ((word >> 24 & 0xff) != CALL_OPCODE)
		return 1;
	ip += (__s64)word >> 32;
	if (is_32bit(buffer))
		ip = (__u32)ip;
	if (mapping_seek(buffer, ip))
		return 0;
	mapping = &buffer->mappings[buffer->slot & (MAPPING_SLOTS - 1)];
	*(__u64 *)&row = row_of(mapping, ip + mapping->to_offset);
	return unwind_row_cfa(&row) == UNWIND_CFA_GAP;
}

/* Returns true for a frame of the code that the kernel starts. */
static __always_inline int is_outermost(__u64 sp)
{
	struct mm_struct *mm = this_task()->mm;

	return mm && mm->start_stack - sp < START_FRAME_MAX;
}

/* Returns 0, -1 at the end, or enum stack_stop. */
static __always_inline int try_frame_pointer(struct stack_buffer *buffer)
{
	struct unwind_frame *frame = &buffer->whole.frame;
	enum unwind_result result;

	if (load_bp(buffer, frame))
		return STOP_NO_TABLE;
	buffer->record.head.flags |= RECORD_FLAG_GUESSED;
	if (!frame->bp && is_outermost(frame->sp))
		return -1;
	if (!frame->bp || frame->bp & (buffer->word - 1) ||
	    frame->bp - frame->sp >= GUESS_FRAME_MAX)
		return STOP_NO_TABLE;
	result = step_by_word(buffer, *(const __u64 *)&unwind_row_frame_pointer);
	if (result == UNWIND_END)
		return -1;
	return result || mapping_seek(buffer, frame->ip - 1) ||
			       !is_plausible_return(buffer, frame->ip)
		       ? STOP_NO_TABLE
		       : 0;
}

/* Steps from a frame of code without a table, by its frame pointer if that is plausible. The frame
 * pointer of the outermost frame is 0 (System V ABI, AMD64, 3.4.1), as in the dynamic linker's
 * start code. */
__noinline int step_guess(struct stack_buffer *buffer)
{
	struct walk_frame before;
	int stop;

	if (!buffer)
		return STOP_NO_TABLE;
	before = buffer->whole;
	stop = try_frame_pointer(buffer);
	if (stop)
		buffer->whole = before;
	return stop;
}

#else

static __always_inline int step_guess(struct stack_buffer *buffer)
{
	(void)buffer;
	return STOP_NO_TABLE;
}

#endif

/* Looks up the frame's row. Rows of code without a table are not cached, as a table may be
 * published. Returns 0 or enum stack_stop. */
__noinline int row_load(struct stack_buffer *buffer, __u32 slot)
{
	struct code_mapping *mapping;
	struct known_row *known;
	__u64 ip, offset;
	int stop;

	if (!buffer)
		return STOP_NO_CODE;
	ip = buffer->frame.ip;
	stop = mapping_seek(buffer, ip - 1); /* nothing is mapped before the trampoline */
	if (stop && is_return_trampoline(ip))
		return STOP_PROBE;
	if (stop) {
		buffer->hash = hash_step(buffer->hash, ip);
		return stop;
	}
	mapping = &buffer->mappings[buffer->slot & (MAPPING_SLOTS - 1)];
	if (!mapping->file.known) {
		buffer->hash = hash_step(buffer->hash, ip);
		return STOP_LATE;
	}
	known = &buffer->rows[slot & (ROW_SLOTS - 1)];
	offset = ip - 1 + mapping->to_offset;
	known->row = row_of(mapping, offset);
	known->word = mapping->file.pages ? (__u64)mapping->file.pages << 32 ^ offset : ip;
	known->generation = buffer->generation;
	known->ip = mapping->file.pages ? ip : 0;
	return 0;
}

/* Continues with the original return address, which the kernel keeps when a return probe replaces
 * it. */
__noinline int resolve_probe(struct stack_buffer *buffer, __u32 slot)
{
	__u64 address;

	if (!buffer)
		return STOP_PROBE;
	address = return_behind_probe(buffer->frame.sp - (REGS_LINKS ? 0 : buffer->word));
	if (!address)
		return STOP_PROBE;
	buffer->frame.ip = address;
	buffer->frames[(buffer->count - 1) & STACK_MAX_FRAMES] = address;
	return row_load(buffer, slot);
}

/*
 * Steps from a frame that a signal interrupted to its caller's. The tables only have rows of call
 * sites, but this frame is at an arbitrary instruction. User space, which has the other rows, too,
 * adds each row that it had to look up for a stack dump. Returns 0, -1 at the end, or enum
 * stack_stop.
 */
__noinline int step_interrupted(struct stack_buffer *buffer)
{
	struct unwind_exact_key key = {};
	struct code_mapping *mapping;
	struct unwind_row *row;
	enum unwind_result result;

	if (!buffer)
		return STOP_SIGNAL;
	buffer->frames[(buffer->count - 1) & STACK_MAX_FRAMES] |= STACK_EXACT; /* the trampoline */
	if (buffer->count >= config_depth)
		return STOP_DEPTH;
	if (mapping_seek(buffer, buffer->frame.ip))
		return STOP_SIGNAL;
	mapping = &buffer->mappings[buffer->slot & (MAPPING_SLOTS - 1)];
	key.pages = mapping->file.pages;
	key.offset = buffer->frame.ip + mapping->to_offset;
	row = key.pages ? bpf_map_lookup_elem(&unwind_exact, &key) : NULL;
	if (!row)
		return STOP_SIGNAL;
	buffer->frames[buffer->count++ & STACK_MAX_FRAMES] = buffer->frame.ip | STACK_EXACT;
	buffer->hash = hash_step(buffer->hash, (__u64)key.pages << 32 ^ ~key.offset);
	result = step_by_word(buffer, *(const __u64 *)row);
	if (result == UNWIND_CONTINUE)
		return 0;
	return result == UNWIND_END ? -1 : stop_of(result);
}

/* Steps from the buffer's frame to its caller's. Returns 0, -1 at the end, or enum stack_stop. */
static __always_inline int step_up(struct stack_buffer *buffer, const struct unwind_abi *abi)
{
	union {
		__u64 word;
		struct unwind_row row;
	} found;
	struct known_row *known;
	enum unwind_result result;
	__u32 slot = (buffer->frame.ip ^ buffer->frame.ip >> 8) & (ROW_SLOTS - 1);
	int stop;

	known = &buffer->rows[slot];
	if (known->ip != buffer->frame.ip || known->generation != buffer->generation) {
		stop = row_load(buffer, slot);
		if (stop == STOP_PROBE)
			stop = resolve_probe(buffer, slot);
		if (stop)
			return stop;
	}
	buffer->hash = hash_step(buffer->hash, known->word);
	found.word = known->row;
	result = walk_step(buffer, abi, &found.row, &buffer->whole);
	if (result == UNWIND_CONTINUE)
		return 0;
	if (result == UNWIND_END)
		return -1;
	if (result == UNWIND_INTERRUPTED)
		return step_interrupted(buffer);
	return result == UNWIND_NO_TABLE ? step_guess(buffer) : stop_of(result);
}

static __always_inline int walk_by(struct stack_buffer *buffer, const struct unwind_abi *abi)
{
	if (buffer->count >= config_depth)
		return STOP_DEPTH;
	buffer->frames[buffer->count & STACK_MAX_FRAMES] = buffer->frame.ip;
	buffer->count++;
	return step_up(buffer, abi);
}

/* Walks a few frames: one call per frame would cost as much as the step. */
__noinline int walk_on(struct stack_buffer *buffer)
{
	int stop = 0;

	if (!buffer)
		return STOP_NO_CODE;
	for (int i = 0; i < WALK_FRAMES && !stop; i++)
		stop = walk_by(buffer, &REGS_UNWIND_ABI);
	return stop;
}

/* 32-bit code is rare: one call per frame is acceptable, a longer loading time is not. */
__noinline int walk_on_32bit(struct stack_buffer *buffer)
{
	return buffer ? walk_by(buffer, &REGS_UNWIND_ABI_32BIT) : STOP_NO_CODE;
}

static __always_inline void walk_start(struct stack_buffer *buffer, const struct caller_frame *from,
				       __u32 generation, __u64 hash)
{
	buffer->record.head.flags = 0;
	buffer->frame.ip = from->ip;
	buffer->frame.sp = from->sp;
	buffer->frame.bp = from->bp;
	walk_begin(&buffer->whole);
	buffer->generation = generation;
	buffer->hash = hash;
	buffer->count = 0;
	buffer->word = from->word;
	window_move(buffer, is_32bit(buffer) ? from->sp & ~7ULL : from->sp);
}

/* Fills the frames. Returns enum stack_stop. */
static __always_inline __u32 walk(struct stack_buffer *buffer)
{
	int stop = 0;

	if (is_32bit(buffer))
		for (int i = 0; i <= STACK_MAX_FRAMES && !stop; i++)
			stop = walk_on_32bit(buffer);
	else
		for (int i = 0; i <= STACK_MAX_FRAMES / WALK_FRAMES && !stop; i++)
			stop = walk_on(buffer);
	return stop < 0 ? STOP_END : stop;
}

#endif
