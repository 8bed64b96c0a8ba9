// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decodes in two passes. The first one finds the control flow, the CFA of each instruction and,
 * from these, the stack pointer. If the CFA is based on sp, the row gives sp directly; otherwise sp
 * is propagated along the control flow edges. Values only change from unseen to a value to lost, so
 * this terminates. The second pass uses them to turn sp- and bp-relative operands into offsets from
 * the CFA. bp points into the frame where the CFA is based on bp, and is an ordinary value
 * elsewhere. In code that breaks this rule, everything escapes.
 */
#include "symbol/liveness/function.h"

#include <elf.h>
#include <errno.h>

#include "symbol/liveness/decode/control.h"
#include "symbol/liveness/decode/effects.h"
#include "symbol/liveness/handlers.h"
#include "symbol/liveness/rows.h"

#define FUNCTION_COST 64 /* fixed cost, in addition to its instructions */

struct function_decoder {
	struct liveness_callees *callees;
	const struct liveness_code *code;
	const struct cfi_fde *fde;
	struct liveness_function *function;
	struct function_code bytes;
	struct x86_walk walk;
	struct liveness_handlers handlers;
	VEC(uint32_t) changed; /* steps whose stack pointer must be propagated */
};

size_t liveness_function_step(const struct liveness_function *function, uint64_t vaddr)
{
	const struct liveness_step *steps = function->steps.items;
	size_t low = 0, high = function->steps.count;
	uint64_t start = vaddr - function->start;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < function->steps.count && steps[low].start == start ? low : SIZE_MAX;
}

/*
 * First pass. All return 0 or -errno; -ENOEXEC for code that cannot be analysed.
 */

static int place_step(struct function_decoder *decoder, struct liveness_rows *rows,
		      struct liveness_step *step)
{
	struct liveness_cfa cfa;

	if (!liveness_rows_seek(rows, decoder->fde->vaddr + step->start) ||
	    !liveness_rows_cfa(rows, &cfa))
		return -ENOEXEC;
	step->cfa_from_bp = cfa.by_bp;
	step->sp = cfa.by_bp ? LIVENESS_NOWHERE : -cfa.offset;
	step->bp = cfa.by_bp ? -cfa.offset : LIVENESS_NOWHERE;
	return 0;
}

/* A jump to a PLT stub leaves the module: it is a tail call. */
static int classify_target(struct function_decoder *decoder, struct liveness_step *step)
{
	uint64_t skip = step->target - decoder->fde->vaddr;
	bool is_call = step->flow == LIVENESS_FLOW_CALL;
	enum liveness_callee callee;

	if (is_call && !step->target)
		return liveness_callee_is_twice_by_pointer(decoder->callees, &decoder->walk)
			       ? -ENOEXEC
			       : 0;
	if (!is_call && (step->flow != LIVENESS_FLOW_JUMP || skip < decoder->fde->size))
		return 0;
	callee = liveness_callee(decoder->callees, step->target);
	if (callee == LIVENESS_CALLEE_TWICE)
		return -ENOEXEC;
	if (callee == LIVENESS_CALLEE_STUB && !is_call)
		step->flow = LIVENESS_FLOW_TAIL;
	/* Assembly without call frame information may read any register. */
	if (callee != LIVENESS_CALLEE_STUB && is_call &&
	    !liveness_code_fde(decoder->code, step->target))
		step->reads = UINT8_MAX;
	return 0;
}

static int decode_control(struct function_decoder *decoder)
{
	struct liveness_function *function = decoder->function;
	uint64_t cost_max = decoder->callees->cost + LIVENESS_COST_MAX;
	struct liveness_rows rows;
	int status = 0;

	if (!liveness_rows_start(&rows, decoder->code, decoder->fde, 0))
		return -ENOEXEC;
	while (!status && x86_walk_next(&decoder->walk)) {
		struct liveness_step step = {0};

		if (function->steps.count == LIVENESS_STEPS_MAX ||
		    decoder->callees->cost++ > cost_max)
			return -ENOEXEC;
		liveness_control(&decoder->walk, &step);
		status = place_step(decoder, &rows, &step);
		if (!status)
			status = classify_target(decoder, &step);
		if (step.flow == LIVENESS_FLOW_CALL)
			step.pad = liveness_handlers_find(&decoder->handlers,
							  decoder->fde->vaddr + step.start);
		if (!status)
			status = vec_push(&function->steps, step);
	}
	if (!status && !x86_walk_is_complete(&decoder->walk))
		return -ENOEXEC;
	return status;
}

/*
 * The stack pointer.
 */

static bool falls_through(const struct liveness_step *step)
{
	return step->flow == LIVENESS_FLOW_NEXT || step->flow == LIVENESS_FLOW_CALL ||
	       step->flow == LIVENESS_FLOW_BRANCH;
}

static bool jumps(const struct liveness_step *step)
{
	return step->flow == LIVENESS_FLOW_JUMP || step->flow == LIVENESS_FLOW_BRANCH;
}

static int join(struct function_decoder *decoder, size_t index, int32_t sp)
{
	struct liveness_step *step;

	if (index >= decoder->function->steps.count)
		return 0;
	step = &decoder->function->steps.items[index];
	if (!step->cfa_from_bp || step->sp == sp || step->sp == LIVENESS_LOST)
		return 0;
	step->sp = step->sp == LIVENESS_NOWHERE ? sp : LIVENESS_LOST;
	return vec_push(&decoder->changed, (uint32_t)index);
}

static int propagate(struct function_decoder *decoder)
{
	int status = 0;

	while (!status && decoder->changed.count) {
		uint32_t index = decoder->changed.items[--decoder->changed.count];
		const struct liveness_step *step = &decoder->function->steps.items[index];
		int32_t sp = liveness_sp_after(step);

		if (falls_through(step))
			status = join(decoder, index + 1, sp);
		if (!status && step->pad)
			status = join(decoder, liveness_function_step(decoder->function, step->pad),
				      sp);
		if (!status && jumps(step))
			status = join(decoder,
				      liveness_function_step(decoder->function, step->target), sp);
	}
	return status;
}

/* Propagates from the steps where it is known, then from steps that no known path reaches. */
static int find_sp(struct function_decoder *decoder)
{
	struct liveness_function *function = decoder->function;
	int status = 0;

	for (size_t i = 0; !status && i < function->steps.count; i++)
		if (!function->steps.items[i].cfa_from_bp)
			status = vec_push(&decoder->changed, (uint32_t)i);
	if (!status)
		status = propagate(decoder);
	for (size_t i = 0; !status && i < function->steps.count; i++) {
		if (function->steps.items[i].sp == LIVENESS_NOWHERE)
			status = join(decoder, i, LIVENESS_LOST);
		if (!status)
			status = propagate(decoder);
	}
	return status;
}

/* Second pass. */

/* Returns true if bp stops being the frame pointer but still has its value. */
static bool keeps_bp(const struct liveness_step *from, const struct liveness_step *to)
{
	return from->cfa_from_bp && !to->cfa_from_bp && !from->writes_bp;
}

static bool leaks_bp(const struct liveness_function *function, size_t index)
{
	const struct liveness_step *steps = function->steps.items, *step = &steps[index];
	size_t target = SIZE_MAX;

	if (jumps(step))
		target = liveness_function_step(function, step->target);
	return (falls_through(step) && index + 1 < function->steps.count &&
		keeps_bp(step, &steps[index + 1])) ||
	       (target != SIZE_MAX && keeps_bp(step, &steps[target]));
}

static void decode_effects(struct function_decoder *decoder)
{
	struct liveness_function *function = decoder->function;

	x86_walk_rewind(&decoder->walk);
	for (size_t i = 0; i < function->steps.count && x86_walk_next(&decoder->walk); i++) {
		bool next_has_frame_pointer =
			i + 1 < function->steps.count && function->steps.items[i + 1].cfa_from_bp;

		liveness_effects(&decoder->walk, next_has_frame_pointer, &function->steps.items[i],
				 &function->escapes);
		if (leaks_bp(function, i))
			function->escapes.all = true;
	}
}

static int decode(struct function_decoder *decoder)
{
	struct liveness_function *function = decoder->function;
	int status;

	decoder->callees->cost += FUNCTION_COST;
	if (!decoder->code->has_sections || decoder->bytes.size != decoder->fde->size)
		return -ENOEXEC;
	status = liveness_handlers_read(&decoder->handlers, decoder->code, decoder->fde);
	decoder->callees->cost += decoder->handlers.sites;
	if (!status)
		status = x86_walk_open(&decoder->walk, &decoder->bytes);
	if (!status)
		status = decode_control(decoder);
	if (!status)
		status = find_sp(decoder);
	if (status)
		return status;
	decode_effects(decoder);
	function->fresh = function->steps.count &&
			  function->steps.items[0].sp == -(int32_t)decoder->code->abi.word;
	return function->escapes.opaque ? -ENOEXEC : 0;
}

int liveness_function_decode(struct liveness_callees *callees, const struct cfi_fde *fde,
			     struct liveness_function *ret_function)
{
	struct function_decoder decoder = {
		.callees = callees,
		.code = callees->code,
		.fde = fde,
		.function = ret_function,
		.bytes = liveness_code_bytes(callees->code, fde->vaddr, fde->size),
	};
	int status;

	*ret_function = (struct liveness_function){
		.start = fde->vaddr,
		.end = fde->vaddr + fde->size,
		.escapes = {.local = INT32_MAX, .argument = INT32_MAX},
	};
	status = decode(&decoder);
	ret_function->known = !status;
	if (status)
		vec_free(&ret_function->steps);
	x86_walk_close(&decoder.walk);
	liveness_handlers_free(&decoder.handlers);
	vec_free(&decoder.changed);
	return status == -ENOMEM ? -ENOMEM : 0;
}

void liveness_function_free(struct liveness_function *function)
{
	vec_free(&function->steps);
}

static bool is_push(const struct liveness_step *step)
{
	return step->sp_change == LIVENESS_SP_ADD && step->amount < 0;
}

bool liveness_function_only_writes(const struct liveness_function *function,
				   struct liveness_range range, bool pushes)
{
	const struct liveness_step *step;
	bool is_written = false;

	vec_each (step, &function->steps) {
		if (liveness_ranges_overlap(step->read, range))
			return false;
		if ((pushes || !is_push(step)) && liveness_ranges_overlap(step->written, range))
			is_written = true;
	}
	return is_written;
}
