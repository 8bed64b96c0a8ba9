/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack is read through a window, so that most stacks need a single read.
 */
#include "source/ptrace/breakpoint/walk.h"

#include <string.h>

#include "arch/registers.h"
#include "arch/unwind_link.h"
#include "base/hash.h"
#include "bpf/walk.h"
#include "os/process/maps.h"
#include "os/process/proc.h"
#include "source/ptrace/breakpoint/space.h"
#include "source/ptrace/tracer/mailbox.h"
#include "source/ptrace/tracer/records.h"

#define WINDOW       4096
#define CALL_SIZE    5
#define FILES_FACTOR 0xff51afd7ed558ccdULL /* odd, with many bits set */

/* The walk of a stack from a breakpoint. */
struct breakpoint_walk {
	const struct space *memory;
	const struct arch *arch;
	const struct unwind_abi *abi; /* NULL if there is none */
	const struct shared *shared;
	union {
		struct unwind_linked linked;
		struct unwind_frame frame; /* its first member */
	};
	uint64_t start_stack; /* where the kernel has put the process's arguments */
	uint64_t files;       /* hash of the files that the frames are in */
	uint32_t word;
	uint32_t depth, count;
	uint16_t flags;
	uint64_t frames[STACK_MAX_FRAMES + 1];
	uint64_t window_start;
	size_t window_size;
	uint8_t window[WINDOW];
};

static void window_move(struct breakpoint_walk *walk, uint64_t address)
{
	walk->window_start = address;
	walk->window_size = space_read_some(walk->memory, address, walk->window, WINDOW);
}

static int unwind_read(void *ctx, const struct unwind_abi *abi, abi_u64 address, abi_u64 *ret_word)
{
	struct breakpoint_walk *walk = ctx;
	uint64_t distance = address - walk->window_start;
	char word[sizeof(*ret_word)] = {0};

	*ret_word = 0;
	if (distance >= walk->window_size || walk->window_size - distance < abi->word) {
		if (address < walk->window_start) {
			int err = space_read(walk->memory, address, word, abi->word);

			*ret_word = err ? 0 : registers_word(word, 0, abi->word);
			return err;
		}
		window_move(walk, address);
		distance = 0;
		if (walk->window_size < abi->word)
			return -1;
	}
	*ret_word = registers_word(walk->window, distance, abi->word);
	return 0;
}

static bool row_find(const struct breakpoint_walk *walk, const struct code_mapping *code,
		     uint64_t address, struct unwind_row *ret_row)
{
	uint64_t offset = address + code->to_offset;
	uint64_t number = (offset >> UNWIND_PAGE_SHIFT) - code->file.first_page;
	const struct unwind_page *page;
	const struct unwind_row *row;

	*ret_row = (struct unwind_row){.kinds = UNWIND_KINDS(UNWIND_CFA_GAP, UNWIND_BP_SAME)};
	if (!code->file.pages || number >= code->file.page_count)
		return false;
	page = &walk->shared->pages[code->file.pages + number];
	row = unwind_find(walk->shared->rows + page->first, page->last - page->first + 1,
			  (uint32_t)offset);
	if (row)
		*ret_row = *row;
	return row != NULL;
}

/* See bpf/unwind.bpf.h: a call that names its callee must name code without a table. */
static bool is_plausible_return(const struct breakpoint_walk *walk, uint64_t ip)
{
	const struct code_mapping *code;
	struct unwind_row row;
	uint8_t call[CALL_SIZE];
	int32_t distance;

	if (space_read(walk->memory, ip - CALL_SIZE, call, sizeof(call)))
		return false;
	if (call[0] != CALL_OPCODE)
		return true;
	memcpy(&distance, call + 1, sizeof(distance));
	ip += (uint64_t)(int64_t)distance;
	if (walk->abi->word == 4)
		ip = (uint32_t)ip;
	code = code_find(walk->memory, ip);
	return code && (!row_find(walk, code, ip, &row) || unwind_row_cfa(&row) == UNWIND_CFA_GAP);
}

/* Steps from a frame of code without a table, by its frame pointer if that is plausible. Returns 0
 * if walk->frame is the next frame. */
static int step_guess(struct breakpoint_walk *walk, enum stack_stop *ret_stop)
{
	struct unwind_row row = unwind_row_frame_pointer;
	struct unwind_frame frame = walk->frame;
	enum unwind_result result;

	*ret_stop = STOP_NO_TABLE;
	if (!walk->arch->guesses)
		return -1;
	if (unwind_load_bp(walk, walk->abi, &frame))
		return -1;
	walk->flags |= RECORD_FLAG_GUESSED;
	if (!frame.bp && walk->start_stack - frame.sp < START_FRAME_MAX)
		*ret_stop = STOP_END; /* a frame of the code that the kernel starts */
	if (!frame.bp || frame.bp % walk->abi->word || frame.bp - frame.sp >= GUESS_FRAME_MAX)
		return -1;
	result = unwind_step(walk, walk->abi, &row, &frame);
	if (result == UNWIND_END)
		*ret_stop = STOP_END;
	if (result || !code_find(walk->memory, frame.ip - 1) ||
	    !is_plausible_return(walk, frame.ip))
		return -1;
	walk->frame = frame;
	return 0;
}

/* Steps from the frame to its caller's. Returns nonzero if the stack ends there. */
static int step_up(struct breakpoint_walk *walk, enum stack_stop *ret_stop)
{
	const struct code_mapping *code = code_find(walk->memory, walk->frame.ip - 1);
	enum unwind_result result;
	struct unwind_row row;

	*ret_stop = STOP_LATE;
	if (!code)
		return -1;
	walk->files = (walk->files ^ code->file.pages) * FILES_FACTOR;
	row_find(walk, code, walk->frame.ip - 1, &row);
	result = unwind_call_step(walk, walk->abi, &row, &walk->linked);
	if (result == UNWIND_CONTINUE)
		return 0;
	if (result == UNWIND_NO_TABLE && walk->abi->link == UNWIND_LINK_NONE)
		return step_guess(walk, ret_stop);
	if (result == UNWIND_INTERRUPTED)
		walk->frames[walk->count - 1] |= STACK_EXACT;
	*ret_stop = stop_of(result);
	return -1;
}

static enum stack_stop walk_by_tables(struct breakpoint_walk *walk)
{
	enum stack_stop stop;

	do {
		if (walk->count >= walk->depth)
			return STOP_DEPTH;
		walk->frames[walk->count++] = walk->frame.ip;
	} while (walk->abi && !step_up(walk, &stop));
	return walk->abi ? stop : STOP_NO_TABLE;
}

/* Like the kernel's bpf_get_stack: each frame pointer leads to the next one. */
static enum stack_stop walk_by_pointers(struct breakpoint_walk *walk)
{
	uint64_t ip = walk->frame.ip, bp = walk->frame.bp, word = walk->word;

	while (walk->count < walk->depth) {
		walk->frames[walk->count++] = ip;
		if (!walk->arch->chains || !walk->abi || bp % word ||
		    unwind_read(walk, walk->abi, bp + word, &ip) ||
		    unwind_read(walk, walk->abi, bp, &bp) || ip < LOWEST_CODE || ip >> 47)
			return STOP_UNKNOWN;
	}
	return STOP_DEPTH;
}

/* Recently sent stacks, by id. Sending a stack twice is harmless. */
static bool is_seen(struct tracer *tracer, uint64_t id)
{
	uint64_t *place = &tracer->seen[id & (SEEN_STACKS - 1)];

	if (*place == id)
		return true;
	*place = id;
	return false;
}

static uint64_t id_of(const struct owner *owner, const struct breakpoint_walk *walk,
		      enum stack_stop stop)
{
	return hash_bytes_seeded(walk->frames, walk->count * sizeof(*walk->frames),
				 (walk->files ^ owner->seed) << 8 | stop) |
	       1; /* 0 means none */
}

static struct record_head head_of(const struct task *task, const struct breakpoint_walk *walk,
				  enum record_kind kind, size_t length)
{
	return (struct record_head){
		.kind = kind,
		.flags = walk->flags,
		.pid = (uint32_t)task->owner->pid,
		.tid = (uint32_t)task->tid,
		.length = (uint32_t)length,
		.time_ns = record_time(),
	};
}

static uint64_t send_stack(struct tracer *tracer, struct task *task,
			   const struct breakpoint_walk *walk, enum stack_stop stop)
{
	size_t size = walk->count * sizeof(*walk->frames);
	struct record_stack record = {.count = walk->count, .stop = stop};
	const struct ring_piece pieces[] = {{&record, sizeof(record)}, {walk->frames, size}};

	record.id = id_of(task->owner, walk, stop);
	record.head = head_of(task, walk, RECORD_STACK, sizeof(record) + size);
	if (!is_seen(tracer, record.id))
		tracer_emit(tracer, task->owner, pieces, 2);
	return record.id;
}

/* Returns true if a stack dump has what a walk needs: not if it needs other registers than bp. */
static bool has_stack_dumps(const struct unwind_abi *abi)
{
	return abi->link == UNWIND_LINK_NONE;
}

/* Sends a stack dump to the command, which has the rows of all instructions and completes the
 * stack. */
static uint64_t send_stack_dump(struct tracer *tracer, struct task *task,
				struct breakpoint_walk *walk, enum stack_stop stop)
{
	struct record_stack_dump record = {.count = walk->count, .stop = stop};
	uint8_t bytes[STACK_DUMP_BYTES];
	struct ring_piece pieces[] = {{&record, sizeof(record)}, {bytes, 0}};

	unwind_load_bp(walk, walk->abi, &walk->frame);
	pieces[1].size = space_read_some(walk->memory, walk->frame.sp, bytes, sizeof(bytes));
	if (walk->abi->word == 4)
		walk->flags |= RECORD_FLAG_32BIT;
	task->meets_new_code |= stop == STOP_LATE;
	record.head = head_of(task, walk, RECORD_STACK_DUMP, sizeof(record) + pieces[1].size);
	record.id = ++tracer->stack_dumps << 1 | 1;
	record.ip = walk->frame.ip;
	record.sp = walk->frame.sp;
	record.bp = walk->frame.bp;
	record.bp_place = walk->frame.bp_place;
	record.size = pieces[1].size;
	memcpy(record.frames, walk->frames, sizeof(record.frames));
	tracer_emit(tracer, task->owner, pieces, 2);
	return record.id;
}

/* Returns true if an address outside of all known mappings is in executable memory. */
static bool is_code(pid_t pid, uint64_t address)
{
	struct proc_maps maps;
	bool found = false;

	if (proc_maps_read(proc_living_thread(pid), &maps))
		return false;
	for (size_t i = 0; i < maps.count && !found; i++)
		found = maps.items[i].executable && address >= maps.items[i].start &&
			address < maps.items[i].end;
	proc_maps_free(&maps);
	return found;
}

uint64_t walk_stack(struct tracer *tracer, struct task *task, const struct caller_frame *from,
		    uint64_t second_bp)
{
	struct breakpoint_walk walk = {
		.memory = task->owner->memory,
		.arch = task->owner->memory->arch,
		.abi = task->owner->memory->arch->abi(from->word == 4),
		.word = from->word,
		.shared = tracer->shared,
		.start_stack = task->owner->start_stack,
		.frame = {.ip = from->ip, .sp = from->sp, .bp = from->bp},
		.depth = tracer->config.depth,
	};
	enum stack_stop stop;

	if (!walk.depth)
		return 0;
	if (walk.abi)
		unwind_linked_start(walk.abi, second_bp, &walk.linked);
	window_move(&walk, from->sp);
	if (!tracer->config.by_tables)
		return send_stack(tracer, task, &walk, walk_by_pointers(&walk));
	stop = walk_by_tables(&walk);
	if (stop == STOP_LATE && !is_code(task->owner->pid, walk.frame.ip - 1))
		stop = STOP_NO_CODE;
	if ((stop == STOP_SIGNAL || stop == STOP_LATE) && has_stack_dumps(walk.abi))
		return send_stack_dump(tracer, task, &walk, stop);
	return send_stack(tracer, task, &walk, stop);
}
