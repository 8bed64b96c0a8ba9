// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/exidx/flow.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/exidx/frame.h"
#include "symbol/exidx/instruction.h"
#include "symbol/exidx/step.h"

#define HALF        2
#define BLOCK_MAX   4  /* instructions in an IT block */
#define CLONE_MAX   64 /* bytes from clone()'s system call to the call in the new thread */
#define PRETEND_MAX 16 /* bytes of register arguments, which may be pushed first */

enum mark {
	MARK_ARM = 1,         /* ARM code */
	MARK_DATA = 2,        /* constants within the code */
	MARK_ENTRY = 4,       /* a function starts here, certainly … */
	MARK_CANDIDATE = 8,   /* … or possibly … */
	MARK_BEHIND_END = 16, /* … after code that never falls through */
	MARK_WANTED = 32,     /* called: must be followed */
};

/* What is known about an instruction; one for each halfword. */
struct flow_place {
	uint32_t frame; /* index + 1; 0: none */
	uint32_t owner; /* number of the function, from 1 */
	uint8_t marks;
	uint8_t size;
};

/* A path that must still be followed. */
struct open_path {
	uint32_t at;
	struct exidx_frame frame;
};

struct follower {
	const struct exidx_flow_code *code;
	struct flow_place *places;
	VEC(struct exidx_frame) frames;
	VEC(struct open_path) ways;
	VEC(uint32_t) visited; /* places of this function */
	VEC(uint32_t) called;  /* entries of functions that it calls */
	uint32_t owner;        /* number of this function */
	uint32_t entry;
	bool has_returned;
	bool has_base; /* sp was restored from the base */
	bool is_base_wrong;
	bool is_wrong;
	VEC(bool) by_base; /* by function: rows are relative to the base */
	struct exidx_flow flow;
	int err;
};

static struct flow_place *place_at(const struct follower *follower, uint32_t at)
{
	return &follower->places[at / HALF];
}

static bool is_inside(const struct follower *follower, uint32_t at)
{
	return at % HALF == 0 && at < follower->code->size && follower->code->size - at >= HALF;
}

static bool is_arm(const struct follower *follower, uint32_t at)
{
	return place_at(follower, at)->marks & MARK_ARM;
}

static struct exidx_step step_at(const struct follower *follower, uint32_t at)
{
	const struct exidx_flow_code *code = follower->code;

	return is_arm(follower, at) ? exidx_step_arm(code->bytes, at, code->size)
				    : exidx_step_thumb(code->bytes, at, code->size);
}

static bool saves_link(const struct exidx_step *step)
{
	return step->does == EXIDX_DOES_PUSH && step->registers & 1U << EXIDX_LR;
}

static bool is_return(const struct exidx_step *step)
{
	return step->does == EXIDX_DOES_POP && step->registers & 1U << EXIDX_PC;
}

static bool never_falls_through(const struct exidx_step *step)
{
	return step->condition == EXIDX_ALWAYS &&
	       (is_return(step) ||
		(step->goes != EXIDX_GOES_ON && step->goes != EXIDX_GOES_CALLING));
}

/*
 * First pass: the instruction set, data, and where functions may start.
 */

static void mark(struct follower *follower, uint32_t at, uint32_t size, uint8_t marks)
{
	const uint32_t limit = follower->code->size;

	for (uint32_t i = 0; i < size && at < limit && limit - at > i; i += HALF)
		place_at(follower, at + i)->marks |= marks;
}

/* The size of a function. If its symbol has none, it ends at the next symbol. */
static uint32_t size_of(const struct exidx_flow_code *code, size_t index)
{
	uint32_t at = code->starts[index].at, end = code->size;

	if (code->starts[index].size)
		return code->starts[index].size;
	for (size_t i = index + 1; i < code->start_count && end == code->size; i++)
		if (code->starts[i].at > at)
			end = code->starts[i].at;
	return end > at ? end - at : 0;
}

static void mark_starts(struct follower *follower)
{
	const struct exidx_flow_code *code = follower->code;

	if (!code->is_thumb)
		mark(follower, 0, code->size, MARK_ARM);
	for (size_t i = 0; i < code->start_count; i++) {
		const struct exidx_start *start = &code->starts[i];
		uint32_t size = size_of(code, i);

		if (!is_inside(follower, start->at) || (!start->is_thumb && start->at % 4))
			continue;
		for (uint32_t at = 0; at < size && is_inside(follower, start->at + at); at += HALF)
			place_at(follower, start->at + at)->marks &= (uint8_t)~MARK_ARM;
		if (!start->is_thumb)
			mark(follower, start->at, size, MARK_ARM);
		place_at(follower, start->at)->marks |= MARK_ENTRY;
	}
}

/* A variadic function first pushes the arguments that are in registers. */
static bool is_pretended(const struct exidx_step *step)
{
	return step->condition == EXIDX_ALWAYS &&
	       ((step->does == EXIDX_DOES_PUSH && step->registers && step->registers < 0x10) ||
		(step->does == EXIDX_DOES_MOVE && step->bytes < 0 && step->bytes >= -PRETEND_MAX));
}

/* Instructions that a compiler may schedule before a function's first push. */
static bool is_plain(const struct exidx_step *step)
{
	return step->condition == EXIDX_ALWAYS && !step->block && step->goes == EXIDX_GOES_ON &&
	       (step->does == EXIDX_DOES_NOTHING || step->does == EXIDX_DOES_LOSE_BASE);
}

/* The state of the first pass. */
struct first_pass {
	bool is_behind_end;
	uint32_t first; /* offset of the first instruction that may start a function */
	bool is_first_behind_end;
	bool has_first;
};

static void first_pass_step(struct follower *follower, uint32_t at, const struct exidx_step *step,
			    struct first_pass *pass)
{
	if (step->literal_size)
		mark(follower, step->literal & ~1U, step->literal_size, MARK_DATA);
	if (saves_link(step) && step->condition == EXIDX_ALWAYS) {
		uint32_t first = pass->has_first ? pass->first : at;
		bool is_behind_end =
			pass->has_first ? pass->is_first_behind_end : pass->is_behind_end;

		place_at(follower, first)->marks |=
			(uint8_t)(MARK_CANDIDATE | (is_behind_end ? MARK_BEHIND_END : 0));
	}
	if (is_pretended(step) && !pass->has_first) {
		pass->has_first = true;
		pass->first = at;
		pass->is_first_behind_end = pass->is_behind_end;
	} else if (!is_pretended(step) && !is_plain(step)) {
		pass->has_first = false;
	}
	if (!pass->is_behind_end || !is_plain(step))
		pass->is_behind_end = never_falls_through(step);
}

static void first_pass_run(struct follower *follower)
{
	struct first_pass pass = {.is_behind_end = true};
	uint32_t at = 0;

	while (is_inside(follower, at)) {
		uint8_t marks = place_at(follower, at)->marks;
		struct exidx_step step;

		if (marks & MARK_DATA || (marks & MARK_ARM && at % 4)) {
			pass.is_behind_end |= (marks & MARK_DATA) != 0;
			pass.has_first = false;
			at += HALF;
			continue;
		}
		step = step_at(follower, at);
		first_pass_step(follower, at, &step, &pass);
		at += step.size > HALF ? step.size : HALF;
	}
}

/*
 * One function.
 */

static void add_way(struct follower *follower, uint32_t at, const struct exidx_frame *frame)
{
	if (is_inside(follower, at) && vec_push(&follower->ways, ((struct open_path){at, *frame})))
		follower->err = -ENOMEM;
}

/* Queues a called function to be followed, too. */
static void note_call(struct follower *follower, const struct exidx_step *step)
{
	struct flow_place *place;

	if (!step->has_target || !is_inside(follower, step->target))
		return;
	place = place_at(follower, step->target);
	if (place->marks & (MARK_ENTRY | MARK_WANTED | MARK_DATA))
		return;
	place->marks |= MARK_WANTED;
	if (vec_push(&follower->called, step->target))
		follower->err = -ENOMEM;
}

/* Returns true if the path ends here: it was followed before, or it enters another function or
 * data. */
static bool is_known_way(struct follower *follower, const struct open_path *way)
{
	const struct flow_place *place = place_at(follower, way->at);
	const struct exidx_frame *frame;

	if (place->marks & MARK_DATA) /* after a call that does not return */
		return true;
	if (way->at != follower->entry && place->marks & (MARK_ENTRY | MARK_WANTED))
		return true;
	if (!place->frame)
		return false;
	frame = &follower->frames.items[place->frame - 1];
	if (!exidx_frame_is_equal(frame, &way->frame))
		follower->is_wrong = true;
	if (frame->base_register != way->frame.base_register || frame->base != way->frame.base)
		follower->is_base_wrong = true;
	return true;
}

static void remember(struct follower *follower, const struct open_path *way, uint8_t size)
{
	struct flow_place *place = place_at(follower, way->at);

	if (vec_push(&follower->frames, way->frame) || vec_push(&follower->visited, way->at)) {
		follower->err = -ENOMEM;
		return;
	}
	place->frame = (uint32_t)follower->frames.count;
	place->owner = follower->owner;
	place->size = size;
}

/* Applies an instruction. Returns false if the path ends there, or if this is not a function. */
static bool take(struct follower *follower, const struct exidx_step *step,
		 struct exidx_frame *frame)
{
	if (!exidx_frame_step(frame, step)) {
		follower->is_wrong = true;
		return false;
	}
	if (step->does == EXIDX_DOES_RESTORE)
		follower->has_base = true;
	if (is_return(step) || step->goes == EXIDX_GOES_BACK) {
		follower->has_returned = true;
		follower->is_wrong |= !exidx_frame_is_undone(frame);
		return false;
	}
	if (step->goes == EXIDX_GOES_CALLING)
		note_call(follower, step);
	if (step->goes == EXIDX_GOES_TO)
		add_way(follower, step->target, frame);
	return step->goes != EXIDX_GOES_TO && step->goes != EXIDX_GOES_AWAY;
}

/* A run of instructions with one condition: frames if it is false [0] and if it is true [1]. */
struct branches {
	struct exidx_frame frames[2];
	bool have_ended[2];
};

static void take_one(struct follower *follower, struct branches *branches, unsigned int which,
		     const struct exidx_step *step)
{
	struct exidx_step own = *step;

	own.condition = EXIDX_ALWAYS;
	if (!branches->have_ended[which])
		branches->have_ended[which] = !take(follower, &own, &branches->frames[which]);
}

/* Joins the two sides. Their frames must be equal, unless one side has ended. */
static void join(struct follower *follower, const struct branches *branches, uint32_t at)
{
	const struct exidx_frame *frames = branches->frames;

	if (!branches->have_ended[0] && !branches->have_ended[1] &&
	    !exidx_frame_is_equal(&frames[0], &frames[1])) {
		follower->is_wrong = true;
		return;
	}
	for (int i = 1; i >= 0; i--)
		if (!branches->have_ended[i]) {
			add_way(follower, at, &frames[i]);
			return;
		}
}

/* Thumb's IT block: the mask says for each instruction after the first whether its condition is
 * inverted. */
static void take_block(struct follower *follower, const struct open_path *way,
		       const struct exidx_step *block)
{
	struct branches branches = {{way->frame, way->frame}, {false, false}};
	unsigned int count = BLOCK_MAX - (unsigned int)__builtin_ctz(block->block);
	uint32_t at = way->at + block->size;

	for (unsigned int i = 0; i < count && is_inside(follower, at) && !follower->err; i++) {
		struct exidx_step step = step_at(follower, at);
		unsigned int bit = block->block >> (BLOCK_MAX - i) & 1;
		unsigned int which = i && bit != (block->condition & 1U) ? 0 : 1;
		struct open_path inner = {at, branches.frames[which]};

		if (place_at(follower, at)->frame) {
			follower->is_wrong = true; /* a jump into an IT block */
			return;
		}
		remember(follower, &inner, step.size);
		take_one(follower, &branches, which, &step);
		at += step.size;
	}
	join(follower, &branches, at);
}

/* ARM: follows the run of instructions with the same condition. */
static void take_conditional(struct follower *follower, const struct open_path *way,
			     struct exidx_step step)
{
	struct branches branches = {{way->frame, way->frame}, {false, false}};
	uint8_t condition = step.condition;
	uint32_t at = way->at;

	while (!branches.have_ended[1] && step.condition == condition && !follower->err) {
		take_one(follower, &branches, 1, &step);
		at += step.size;
		if (!is_inside(follower, at))
			break;
		step = step_at(follower, at);
		if (exidx_frame_is_equal(&branches.frames[0], &branches.frames[1]))
			break; /* the frame has not changed */
	}
	join(follower, &branches, at);
}

/* Follows a path to its end, or to where it splits. */
static void follow_way(struct follower *follower, struct open_path way)
{
	while (is_inside(follower, way.at) && !is_known_way(follower, &way)) {
		struct exidx_step step = step_at(follower, way.at);

		if (saves_link(&step) && way.frame.saved[EXIDX_SAVED_LINK])
			return; /* another function: the call before it does not return */
		remember(follower, &way, step.size);
		if (follower->err || follower->is_wrong)
			return;
		if (step.block) {
			take_block(follower, &way, &step);
			return;
		}
		if (step.condition != EXIDX_ALWAYS) {
			take_conditional(follower, &way, step);
			return;
		}
		if (!take(follower, &step, &way.frame))
			return;
		way.at += step.size;
	}
}

static void forget(struct follower *follower)
{
	const uint32_t *at;

	vec_each (at, &follower->visited) {
		place_at(follower, *at)->frame = 0;
		place_at(follower, *at)->owner = 0;
	}
}

/* Returns true if the function is certain: it returns, or its start was found by other means. */
static bool is_sure(const struct follower *follower)
{
	const struct flow_place *place = place_at(follower, follower->entry);

	return follower->has_returned ||
	       place->marks & (MARK_ENTRY | MARK_WANTED | MARK_BEHIND_END);
}

static void follow_function(struct follower *follower, uint32_t entry)
{
	const struct exidx_frame frame = {0};
	uint32_t frames = (uint32_t)follower->frames.count;

	if (place_at(follower, entry)->frame || follower->err)
		return;
	follower->owner++;
	follower->entry = entry;
	follower->has_returned = follower->has_base = false;
	follower->is_wrong = follower->is_base_wrong = false;
	follower->visited.count = 0;
	add_way(follower, entry, &frame);
	while (follower->ways.count && !follower->err && !follower->is_wrong)
		follow_way(follower, follower->ways.items[--follower->ways.count]);
	follower->ways.count = 0;
	if (follower->is_wrong || !is_sure(follower)) {
		forget(follower);
		follower->frames.count = frames;
		follower->owner--;
		follower->flow.refused++;
	} else if (vec_push(&follower->by_base, follower->has_base && !follower->is_base_wrong)) {
		follower->err = -ENOMEM;
	}
}

static void follow_called(struct follower *follower)
{
	while (follower->called.count && !follower->err)
		follow_function(follower, follower->called.items[--follower->called.count]);
}

static void follow_marked(struct follower *follower, uint8_t marks)
{
	for (uint32_t at = 0; is_inside(follower, at) && !follower->err; at += HALF) {
		if (!(place_at(follower, at)->marks & marks))
			continue;
		follow_function(follower, at);
		follow_called(follower);
	}
}

/*
 * Rows.
 */

static const struct unwind_row gap_row = {.kinds = UNWIND_CFA_GAP};
static const struct unwind_row end_row = {.kinds = UNWIND_CFA_END};

static void put_row(struct follower *follower, struct unwind_row row, uint32_t at)
{
	struct exidx_flow *flow = &follower->flow;
	const struct unwind_row *last =
		flow->rows.count ? &flow->rows.items[flow->rows.count - 1] : &gap_row;

	row.offset = at;
	if (last->kinds == row.kinds && last->cfa_offset == row.cfa_offset &&
	    last->bp_offset == row.bp_offset)
		return;
	if (vec_push(&flow->rows, row))
		follower->err = -ENOMEM;
}

static struct unwind_row row_of(const struct follower *follower, const struct flow_place *place)
{
	struct unwind_row row;

	if (!exidx_frame_row(&follower->frames.items[place->frame - 1],
			     follower->by_base.items[place->owner - 1], &row))
		return gap_row;
	return row;
}

/* Code to recognise: instructions in order, compared under masks. */
struct code_pattern {
	uint32_t words[3], masks[3];
	uint32_t size; /* bytes of the first one */
};

/* A call, followed by the exit of the thread: MOV r7, #1; SVC 0. */
static const struct code_pattern thread_calls[] = {
	{{0x4780, 0x0701f04f, 0xdf00}, {0xff87, 0xffffffff, 0xffff}, HALF},
	{{0xe12fff30, 0xe3a07001, 0xef000000}, {0xfffffff0, 0xffffffff, 0xffffffff}, 4},
};

/* MOVS r0, r4; BNE to setcontext(); B to exit(). */
static const struct code_pattern coroutine_end = {
	{0xe1b00004, 0x1a000000, 0xea000000}, {0xffffffff, 0xff000000, 0xff000000}, 4};

static bool is_pattern(const struct follower *follower, const struct code_pattern *pattern,
		       uint32_t at)
{
	const struct exidx_flow_code *code = follower->code;

	for (int i = 0; i < 3; i++) {
		uint32_t size = pattern->masks[i] >> 16 ? 4 : HALF, word = 0;

		if (at > code->size || code->size - at < size)
			return false;
		memcpy(&word, code->bytes + at, size);
		if ((le32toh(word) & pattern->masks[i]) != pattern->words[i])
			return false;
		at += size;
	}
	return true;
}

/* Recognises the call in a new thread, shortly after MOV r7, #120 (clone). Returns the size of the
 * call in bytes, or 0. */
static uint32_t thread_call(const struct follower *follower, uint32_t at)
{
	static const uint8_t clones[][4] = {{0x4f, 0xf0, 0x78, 0x07}, {0x78, 0x70, 0xa0, 0xe3}};
	uint32_t before = at < CLONE_MAX ? at : CLONE_MAX;
	const uint8_t *start = follower->code->bytes + at - before;

	for (int i = 0; i < 2; i++)
		if (is_pattern(follower, &thread_calls[i], at) &&
		    memmem(start, before, clones[i], sizeof(clones[i])))
			return thread_calls[i].size;
	return 0;
}

/* Where the instructions of two paths overlap, it is unknown which one runs: a gap. */
static struct unwind_row row_at(const struct follower *follower, uint32_t at, uint32_t *end)
{
	const struct flow_place *place = place_at(follower, at);
	uint32_t size = thread_call(follower, at);

	if (!size && at < *end)
		return gap_row;
	*end = at + (size ? size : place->size);
	if (size)
		return end_row;
	return place->frame ? row_of(follower, place) : gap_row;
}

/* The end of a coroutine is only returned to, so it is looked up one byte before its start. */
static void put_rows(struct follower *follower)
{
	uint32_t end = 0;

	for (uint32_t at = 0; is_inside(follower, at) && !follower->err; at += HALF) {
		if (place_at(follower, at)->frame || at >= end)
			put_row(follower, row_at(follower, at, &end), at);
		if (at % 4 == 2 && is_pattern(follower, &coroutine_end, at + HALF))
			put_row(follower, end_row, at + 1);
	}
	put_row(follower, gap_row, follower->code->size);
}

int exidx_flow_follow(const struct exidx_flow_code *code, struct exidx_flow *ret_flow)
{
	struct follower follower = {.code = code};

	*ret_flow = (struct exidx_flow){0};
	if (code->size < HALF || code->size > EXIDX_FLOW_MAX)
		return 0;
	follower.places = calloc(code->size / HALF + 1, sizeof(*follower.places));
	if (!follower.places)
		return -ENOMEM;
	mark_starts(&follower);
	first_pass_run(&follower);
	follow_marked(&follower, MARK_ENTRY);
	follow_marked(&follower, MARK_CANDIDATE);
	put_rows(&follower);
	follower.flow.functions = follower.owner;
	free(follower.places);
	vec_free(&follower.frames);
	vec_free(&follower.ways);
	vec_free(&follower.visited);
	vec_free(&follower.called);
	vec_free(&follower.by_base);
	*ret_flow = follower.flow;
	return follower.err;
}

void exidx_flow_free(struct exidx_flow *flow)
{
	vec_free(&flow->rows);
}

/* Counts the instructions that save the link register: they are distinctive in each set. */
bool exidx_flow_is_thumb(const uint8_t *code, size_t size)
{
	size_t arm = 0, thumb = 0;

	for (size_t at = 0; size >= 4 && at <= size - 4; at += HALF) {
		thumb += code[at + 1] == 0xb5 ||
			 (code[at] == 0x2d && code[at + 1] == 0xe9 && code[at + 3] & 0x40);
		arm += at % 4 == 0 && code[at + 3] == 0xe9 && code[at + 2] == 0x2d &&
		       code[at + 1] & 0x40;
	}
	return arm * 4 <= thumb;
}
