/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/scan/stack_liveness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "os/process/proc.h"
#include "os/ptrace/callee_saved.h"
#include "symbol/liveness/liveness.h"

#define FRAMES_MAX     16384
#define REFERENCES_MAX 65536 /* to classify; nothing is known about any more of them */
#define RED_ZONE       128   /* bytes below the stack pointer that a function may use */

/*
 * Time limit for all words of a scan: without memory for a copy, the process is stopped meanwhile.
 * Code that is designed to be slow to analyse may take a second per word. Nothing is known about
 * the words that are left.
 */
#define PATIENCE_NS 20000000000ULL

_Static_assert(CALLEE_SAVED_MAX == LIVENESS_SAVED && CALLEE_SAVED_BP == LIVENESS_BP,
	       "both have the same registers in the same order");

/* A function that has not returned yet. */
struct stack_frame {
	uint64_t sp;  /* its words start here … */
	uint64_t cfa; /* … and end here */
	const struct module *module;
	uint64_t offset;  /* file offset of the instruction at which it continues */
	bool interrupted; /* interrupted, not in a call */
	struct frame_liveness live;
};

struct thread_stack {
	struct callee_saved registers;
	uint32_t set; /* index of its registers in the scan's list */
	uint64_t end; /* of its stack; 0 if not known */
	bool unwound;
	VEC(struct stack_frame) frames; /* innermost first */
};

struct stack_liveness {
	struct stack_liveness_config config;
	struct mapping_index mappings;
	const struct scan_memory *memory;
	uint64_t deadline_ns;
	VEC(struct thread_stack) threads;
};

/* Any frame beyond it belongs to another stack, so this thread says nothing about its words. */
static uint64_t stack_end(const struct stack_liveness_config *config, uint64_t sp)
{
	for (size_t i = 0; i < config->range_count; i++) {
		const struct scan_range *range = &config->ranges[i];

		if (range->stack && range->start <= sp && sp < range->end)
			return range->end;
	}
	return 0;
}

/* The scan has no register sets for threads without registers. */
static int take_threads(struct stack_liveness *liveness, const struct thread_registers *threads,
			size_t count)
{
	uint32_t set = 0;

	for (size_t i = 0; i < count; i++) {
		struct thread_stack stack = {.set = set};

		set += threads[i].size > 0;
		if (!callee_saved_read(&threads[i], &stack.registers))
			continue;
		stack.end = stack_end(&liveness->config, stack.registers.sp);
		if (vec_push(&liveness->threads, stack))
			return -ENOMEM;
	}
	return liveness->threads.count ? 0 : -ENOTSUP;
}

int stack_liveness_new(struct stack_liveness **ret_liveness,
		       const struct stack_liveness_config *config,
		       const struct thread_registers *threads, size_t thread_count)
{
	struct stack_liveness *liveness = calloc(1, sizeof(*liveness));
	int err;

	if (!liveness)
		return -ENOMEM;
	liveness->config = *config;
	err = take_threads(liveness, threads, thread_count);
	if (!err)
		err = mapping_index_new(&liveness->mappings, &config->process->mappings);
	if (err)
		stack_liveness_free(liveness);
	else
		*ret_liveness = liveness;
	return err;
}

void stack_liveness_free(struct stack_liveness *liveness)
{
	struct thread_stack *stack;

	if (!liveness)
		return;
	vec_each (stack, &liveness->threads)
		vec_free(&stack->frames);
	vec_free(&liveness->threads);
	mapping_index_free(&liveness->mappings);
	free(liveness);
}

static bool is_overdue(const struct stack_liveness *liveness)
{
	return clock_now_ns() >= liveness->deadline_ns;
}

/* Unwinding. */

static bool read_word(const struct stack_liveness *liveness, uint32_t word, uint64_t address,
		      uint64_t *ret_value)
{
	const struct memory_piece piece = {.address = address, .size = word};
	uint32_t word32 = 0;
	void *to = word == sizeof(word32) ? (void *)&word32 : (void *)ret_value;

	if (liveness->memory->read(liveness->memory->ctx, &piece, 1, to) != (ssize_t)word)
		return false;
	if (word == sizeof(word32))
		*ret_value = word32;
	return true;
}

/* A return address may be one past the end of its mapping, so it is looked up one byte before. */
static bool find_code(const struct stack_liveness *liveness, uint64_t pc, struct stack_frame *frame)
{
	uint64_t address = frame->interrupted ? pc + 1 : pc;
	const struct mapping *mapping = mapping_index_find(&liveness->mappings, address,
							   liveness->mappings.mappings->clock);

	if (!mapping)
		return false;
	frame->module = module_get(liveness->config.modules, mapping->module);
	frame->offset = pc - mapping->start + mapping->offset;
	return frame->module && frame->module->fd >= 0;
}

/* Sets the registers to the values that the caller has after the frame's function returns. */
static bool return_from(const struct stack_liveness *liveness, const struct stack_frame *frame,
			struct callee_saved *registers)
{
	int32_t saved_bp = frame->live.saved[CALLEE_SAVED_BP];
	uint32_t word = registers->word;

	if (saved_bp && !read_word(liveness, word, frame->cfa + (uint64_t)(int64_t)saved_bp,
				   &registers->values[CALLEE_SAVED_BP]))
		return false;
	registers->sp = frame->cfa;
	return read_word(liveness, word, frame->cfa - word, &registers->pc);
}

static bool push_frame(struct stack_liveness *liveness, struct thread_stack *stack,
		       struct callee_saved *registers)
{
	struct stack_frame frame = {.sp = registers->sp, .interrupted = !stack->frames.count};
	uint64_t base;

	if (!find_code(liveness, registers->pc, &frame) ||
	    parser_frame_liveness(liveness->config.parser, frame.module, frame.offset,
				  frame.interrupted, &frame.live) ||
	    !frame.live.unwound)
		return false;
	base = frame.live.cfa_from_bp ? registers->values[CALLEE_SAVED_BP] : registers->sp;
	frame.cfa = base + (uint64_t)(int64_t)frame.live.cfa_offset;
	if (frame.cfa <= frame.sp || frame.cfa > stack->end || frame.cfa % registers->word ||
	    !return_from(liveness, &frame, registers))
		return false;
	return !vec_push(&stack->frames, frame);
}

static void unwind(struct stack_liveness *liveness, struct thread_stack *stack)
{
	struct callee_saved registers = stack->registers;

	stack->unwound = true;
	while (stack->frames.count < FRAMES_MAX && !is_overdue(liveness) &&
	       push_frame(liveness, stack, &registers))
		;
}

/* Judging. */

static enum reference_answer answer_of(enum liveness live)
{
	return live == LIVENESS_DEAD ? REFERENCE_DEAD : REFERENCE_LIVE;
}

/* Says whether the frame or its callers read the current value of the register. */
static enum reference_answer ask_register(const struct thread_stack *stack, size_t frame,
					  size_t index)
{
	for (; frame < stack->frames.count; frame++) {
		const struct frame_liveness *live = &stack->frames.items[frame].live;

		if (!live->known && live->registers[index] == LIVENESS_UNKNOWN)
			return REFERENCE_UNKNOWN;
		if (live->registers[index] != LIVENESS_PASSED)
			return answer_of(live->registers[index]);
	}
	return REFERENCE_UNKNOWN;
}

static enum reference_answer ask_slot(const struct stack_liveness *liveness,
				      const struct stack_frame *frame, uint64_t address)
{
	int64_t offset = (int64_t)(address - frame->cfa);
	enum liveness live;

	if (!frame->live.known)
		return REFERENCE_UNKNOWN;
	if (offset < INT32_MIN || offset > INT32_MAX)
		return REFERENCE_LIVE;
	if (parser_slot_liveness(liveness->config.parser, frame->module, frame->offset,
				 frame->interrupted, (int32_t)offset, &live))
		return REFERENCE_UNKNOWN;
	return answer_of(live);
}

/*
 * Returns the index of the register that the frame saved at the address, or the number of registers
 * if it saved none there.
 */
static size_t saved_at(const struct thread_stack *stack, const struct stack_frame *frame,
		       uint64_t address)
{
	size_t i = 0;

	while (i < stack->registers.count &&
	       !(frame->live.saved[i] &&
		 frame->cfa + (uint64_t)(int64_t)frame->live.saved[i] == address))
		i++;
	return i;
}

/* Words that span two slots are rare; they count as read. */
static enum reference_answer ask_word(const struct stack_liveness *liveness,
				      const struct thread_stack *stack, size_t index,
				      uint64_t address)
{
	const struct stack_frame *frame = &stack->frames.items[index];
	size_t saved = saved_at(stack, frame, address);
	enum reference_answer answer;

	if (address % stack->registers.word || address == frame->cfa - stack->registers.word)
		return REFERENCE_LIVE;
	if (saved < stack->registers.count)
		return ask_register(stack, index + 1, saved);
	answer = ask_slot(liveness, frame, address);
	/* it may be an argument of the function called from this frame */
	return answer == REFERENCE_DEAD && index ? ask_slot(liveness, frame - 1, address) : answer;
}

/* The frame that contains the address; the number of frames if none does. */
static size_t frame_at(const struct thread_stack *stack, uint64_t address)
{
	size_t low = 0, high = stack->frames.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stack->frames.items[middle].cfa <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static enum reference_answer ask_memory(const struct stack_liveness *liveness,
					const struct thread_stack *stack, uint64_t address)
{
	size_t frame = frame_at(stack, address);

	return frame < stack->frames.count ? ask_word(liveness, stack, frame, address)
					   : REFERENCE_UNKNOWN;
}

/* Returns true if the code in which the thread stopped is analysed. */
static bool is_innermost_known(const struct thread_stack *stack)
{
	return stack->frames.count && stack->frames.items[0].live.known;
}

/* The innermost frame may still read any register that functions need not preserve. */
static enum reference_answer ask_in_register(const struct thread_stack *stack, uint64_t offset)
{
	if (!is_innermost_known(stack))
		return REFERENCE_UNKNOWN;
	for (size_t i = 0; i < stack->registers.count; i++)
		if (stack->registers.offsets[i] == offset)
			return ask_register(stack, 0, i);
	return REFERENCE_LIVE;
}

/* Returns true if the word is in a frame of this thread, or is one of its registers. */
static bool is_of(const struct thread_stack *stack, const struct scan_reference *reference)
{
	size_t count = stack->frames.count;

	if (reference->registers != SCAN_IN_MEMORY)
		return reference->registers == stack->set;
	return count && reference->address >= stack->frames.items[0].sp &&
	       reference->address < stack->frames.items[count - 1].cfa;
}

/* Returns true if the word is in the red zone of an analysed function. */
static bool is_in_red_zone(const struct thread_stack *stack, const struct scan_reference *reference)
{
	uint64_t sp = stack->registers.sp;

	return is_innermost_known(stack) && reference->registers == SCAN_IN_MEMORY &&
	       reference->address < sp && sp - reference->address <= RED_ZONE;
}

static void classify_one(struct stack_liveness *liveness, struct scan_reference *reference)
{
	struct thread_stack *stack;

	vec_each (stack, &liveness->threads) {
		enum reference_answer answer;

		if (!stack->unwound)
			unwind(liveness, stack);
		if (is_in_red_zone(stack, reference)) {
			reference->answer = REFERENCE_LIVE;
			return;
		}
		if (!is_of(stack, reference))
			continue;
		answer = reference->registers == SCAN_IN_MEMORY
				 ? ask_memory(liveness, stack, reference->address)
				 : ask_in_register(stack, reference->address);
		if (answer != REFERENCE_UNKNOWN)
			reference->answer = answer;
		return;
	}
}

int stack_liveness_classify(void *ctx, const struct scan_memory *memory,
			    struct scan_reference *references, size_t count)
{
	struct stack_liveness *liveness = ctx;

	liveness->memory = memory;
	liveness->deadline_ns = clock_now_ns() + PATIENCE_NS;
	for (size_t i = 0; i < count && i < REFERENCES_MAX && !is_overdue(liveness); i++)
		classify_one(liveness, &references[i]);
	return 0;
}
