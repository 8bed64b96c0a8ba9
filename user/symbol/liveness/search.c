// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A depth-first search. Each function that it enters is a part with a bitmap of visited steps, so
 * no step is visited twice and the search terminates. The search enters another function only if
 * that continues the same frame: the CFA at the target equals the CFA at the jump.
 */
#include "symbol/liveness/search.h"

#include <stdbool.h>
#include <stdlib.h>

#define PARTS_MAX 8

struct search_part {
	const struct liveness_function *function;
	uint8_t *visited; /* one bit per step */
};

struct search_place {
	uint32_t part;
	uint32_t step;
};

struct liveness_search {
	struct liveness_cache *cache;
	bool is_register;
	bool unwinds;         /* an exception passes the register to the caller */
	bool may_be_argument; /* of a later call: written, but never read */
	struct liveness_range slot;
	uint8_t reg; /* a single bit */
	struct search_part parts[PARTS_MAX];
	uint32_t part_count;
	VEC(struct search_place) open;
	enum liveness verdict; /* so far; DEAD or PASSED while the search continues */
};

static bool is_over(const struct liveness_search *search)
{
	return search->verdict == LIVENESS_READ || search->verdict == LIVENESS_UNKNOWN;
}

static void visit(struct liveness_search *search, uint32_t part, size_t step)
{
	struct search_place place = {part, (uint32_t)step};
	uint8_t *visited = &search->parts[part].visited[step / 8];
	uint8_t bit = (uint8_t)(1U << step % 8);

	if (*visited & bit)
		return;
	*visited |= bit;
	if (vec_push(&search->open, place))
		search->verdict = LIVENESS_UNKNOWN;
}

/*
 * Returns true if the slot may be part of an object whose address the function takes. That holds at
 * and above such an address. Below it, a word that the function writes but never reads may belong
 * to a struct, and the program may only take the address of a later member (container_of).
 */
static bool has_escaped(const struct liveness_search *search,
			const struct liveness_function *function)
{
	const struct liveness_escapes *escapes = &function->escapes;
	int64_t end = (int64_t)search->slot.at + search->slot.size;

	if (search->is_register)
		return false;
	if (search->slot.at >= 0)
		return escapes->all || end > escapes->argument;
	return escapes->all || end > escapes->local ||
	       (escapes->local != INT32_MAX &&
		liveness_function_only_writes(function, search->slot, false));
}

/* Returns the part of a function, added if it is new, or PARTS_MAX if it cannot be entered. */
static uint32_t enter(struct liveness_search *search, const struct liveness_function *function)
{
	struct search_part *part = &search->parts[search->part_count];
	uint32_t index = 0;

	while (index < search->part_count && search->parts[index].function != function)
		index++;
	if (index < search->part_count)
		return index;
	if (search->part_count == PARTS_MAX || has_escaped(search, function))
		return PARTS_MAX;
	part->function = function;
	if (!search->is_register && liveness_function_only_writes(function, search->slot, true))
		search->may_be_argument = true;
	part->visited = calloc(1, function->steps.count / 8 + 1);
	return part->visited ? search->part_count++ : PARTS_MAX;
}

/* Ends a path that returns to the caller. */
static void leave(struct liveness_search *search)
{
	if (search->is_register)
		search->verdict = LIVENESS_PASSED;
}

/* An exception that leaves the function passes on the registers that it has not saved. */
static void throw_from(struct liveness_search *search, const struct liveness_step *step)
{
	if (search->unwinds && step->flow == LIVENESS_FLOW_CALL && !is_over(search))
		leave(search);
}

static bool is_known(int32_t place)
{
	return place != LIVENESS_NOWHERE && place != LIVENESS_LOST;
}

/* Returns true if the called function may take the slot as an argument on the stack. */
static bool passes(const struct liveness_search *search, const struct liveness_step *call)
{
	return search->may_be_argument && (!is_known(call->sp) || search->slot.at >= call->sp);
}

static bool has_returned_stack(const struct liveness_search *search,
			       const struct liveness_step *step)
{
	return step->sp == -(int32_t)search->cache->code.abi.word;
}

/* The callee of a tail call gets this function's arguments on the stack. */
static void tail_call(struct liveness_search *search, const struct liveness_step *step)
{
	if (!has_returned_stack(search, step) || (!search->is_register && search->slot.at >= 0))
		search->verdict = LIVENESS_UNKNOWN;
	else
		leave(search);
}

/* Returns true if the CFA at the target is that of the jump. */
static bool is_same_frame(const struct liveness_step *from, const struct liveness_step *to)
{
	if (to->cfa_from_bp)
		return from->cfa_from_bp && from->bp == to->bp;
	return is_known(from->sp) && from->sp == to->sp;
}

static void jump_out(struct liveness_search *search, const struct liveness_step *step,
		     uint64_t target)
{
	const struct liveness_function *function = liveness_cache_function(search->cache, target);
	bool is_argument = !search->is_register && search->slot.at >= 0;
	size_t index;
	uint32_t part;

	search->verdict = LIVENESS_UNKNOWN;
	if (!function || !function->known)
		return;
	index = liveness_function_step(function, target);
	if (index == SIZE_MAX || !is_same_frame(step, &function->steps.items[index]))
		return;
	if (step->flow == LIVENESS_FLOW_JUMP && !index && function->fresh && !is_argument) {
		search->verdict = LIVENESS_DEAD;
		leave(search);
		return;
	}
	part = enter(search, function);
	if (part == PARTS_MAX)
		return;
	search->verdict = LIVENESS_DEAD;
	visit(search, part, index);
}

/* Keeps the verdict of the other paths if this one ends dead. */
static void follow_out(struct liveness_search *search, const struct liveness_step *step,
		       uint64_t target)
{
	enum liveness before = search->verdict;

	jump_out(search, step, target);
	if (search->verdict == LIVENESS_DEAD)
		search->verdict = before;
}

static void follow_to(struct liveness_search *search, uint32_t part,
		      const struct liveness_step *step, uint64_t target)
{
	const struct liveness_function *function = search->parts[part].function;
	size_t index;

	if (target - function->start >= function->end - function->start) {
		follow_out(search, step, target);
		return;
	}
	index = liveness_function_step(function, target);
	if (index == SIZE_MAX)
		search->verdict = LIVENESS_UNKNOWN; /* into the middle of an instruction */
	else
		visit(search, part, index);
}

static void follow_next(struct liveness_search *search, struct search_place place,
			const struct liveness_step *step)
{
	const struct liveness_function *function = search->parts[place.part].function;

	if (place.step + 1 < function->steps.count)
		visit(search, place.part, place.step + 1);
	else if (step->flow != LIVENESS_FLOW_CALL)
		follow_out(search, step, function->end);
}

static void follow_call(struct liveness_search *search, struct search_place place,
			const struct liveness_step *step)
{
	if (passes(search, step)) {
		search->verdict = LIVENESS_UNKNOWN;
		return;
	}
	follow_next(search, place, step);
	throw_from(search, step);
	if (step->pad && !is_over(search))
		follow_to(search, place.part, step, step->pad);
}

static void follow(struct liveness_search *search, struct search_place place,
		   const struct liveness_step *step)
{
	switch (step->flow) {
	case LIVENESS_FLOW_NEXT:
		follow_next(search, place, step);
		break;
	case LIVENESS_FLOW_CALL:
		follow_call(search, place, step);
		break;
	case LIVENESS_FLOW_BRANCH:
		follow_next(search, place, step);
		if (!is_over(search))
			follow_to(search, place.part, step, step->target);
		break;
	case LIVENESS_FLOW_JUMP:
		follow_to(search, place.part, step, step->target);
		break;
	case LIVENESS_FLOW_RETURN:
		leave(search);
		break;
	case LIVENESS_FLOW_STOP:
		break;
	case LIVENESS_FLOW_TAIL:
		tail_call(search, step);
		break;
	default:
		search->verdict = LIVENESS_UNKNOWN;
	}
}

static bool covers(struct liveness_range a, struct liveness_range b)
{
	return a.at <= b.at && (int64_t)a.at + a.size >= (int64_t)b.at + b.size;
}

static bool reads(const struct liveness_search *search, const struct liveness_step *step)
{
	return search->is_register
		       ? step->reads & search->reg
		       : step->reads_frame || liveness_ranges_overlap(step->read, search->slot);
}

static bool overwrites(const struct liveness_search *search, const struct liveness_step *step)
{
	return search->is_register ? step->writes & search->reg
				   : covers(step->written, search->slot);
}

/* The call that ends at `from` may throw: also starts at its landing pad. */
static void start_at_handler(struct liveness_search *search,
			     const struct liveness_function *function, size_t index)
{
	const struct liveness_step *step = &function->steps.items[index];

	if (!index)
		return;
	throw_from(search, &step[-1]);
	if (step[-1].pad)
		follow_to(search, 0, &step[-1], step[-1].pad);
}

static enum liveness run(struct liveness_search *search, const struct liveness_function *function,
			 uint64_t from)
{
	size_t index = liveness_function_step(function, from);

	search->verdict = LIVENESS_UNKNOWN;
	if (!function->known || enter(search, function) == PARTS_MAX)
		return LIVENESS_UNKNOWN;
	if (from == function->end)
		index = function->steps.count;
	if (index == SIZE_MAX)
		return LIVENESS_UNKNOWN;
	search->verdict = LIVENESS_DEAD;
	if (index < function->steps.count)
		visit(search, 0, index);
	start_at_handler(search, function, index);
	while (!is_over(search) && search->open.count) {
		struct search_place place = search->open.items[--search->open.count];
		const struct liveness_step *step =
			&search->parts[place.part].function->steps.items[place.step];

		if (reads(search, step))
			search->verdict = LIVENESS_READ;
		else if (!overwrites(search, step))
			follow(search, place, step);
	}
	return search->verdict;
}

static enum liveness finish(struct liveness_search *search, enum liveness verdict)
{
	for (uint32_t i = 0; i < search->part_count; i++)
		free(search->parts[i].visited);
	vec_free(&search->open);
	return verdict;
}

enum liveness liveness_search_slot(struct liveness_cache *cache,
				   const struct liveness_function *function, uint64_t from,
				   struct liveness_range slot)
{
	struct liveness_search search = {.cache = cache, .slot = slot};

	return finish(&search, run(&search, function, from));
}

enum liveness liveness_search_register(struct liveness_cache *cache,
				       const struct liveness_function *function, uint64_t from,
				       unsigned int reg, bool is_saved)
{
	struct liveness_search search = {
		.cache = cache,
		.is_register = true,
		.unwinds = !is_saved,
		.reg = (uint8_t)(1U << reg),
	};

	return finish(&search, run(&search, function, from));
}
