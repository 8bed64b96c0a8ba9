/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How complete the stacks of a process are, and why some are not. */
#include "report/text/stacks.h"

#include <stdio.h>

#include "base/units.h"
#include "model/event.h"
#include "report/common/amount.h"
#include "report/common/name.h"
#include "report/common/stop_words.h"
#include "report/text/note.h"
#include "report/text/view.h"

#define SENTENCE_SIZE 512
#define WHERE_SIZE    320
#define MODULE_SIZE   256

const char *stacks_verdict(const struct snapshot_process *process,
			   const struct stack_quality *quality, char text[AMOUNT_SIZE])
{
	char share[AMOUNT_SIZE], of_calls[AMOUNT_SIZE];

	if (quality->by_reason[STOP_NOT_TAKEN] == quality->stacks)
		return process->losses.stacks ? "no stack could be recorded" : "stacks are off";
	if (quality->complete == quality->stacks)
		return quality->stacks == 1 ? "complete" : "all complete";
	if (!quality->complete && quality->by_reason[STOP_UNKNOWN])
		return "unknown if complete: frame pointers cannot tell";
	snprintf(text, AMOUNT_SIZE, "%s complete, for %s of calls",
		 amount_share(quality->complete, quality->stacks, share),
		 amount_share(quality->complete_calls, quality->calls, of_calls));
	return text;
}

/* Returns true if the stack ends for this reason, and the module where it ends. */
static bool ends_in(const struct snapshot_stack *stack, unsigned int stop, uint32_t *ret_module)
{
	if (stack->stop != stop || !stack->frame_count)
		return false;
	*ret_module = stack->frames[stack->frame_count - 1].module_id;
	return true;
}

/*
 * Finds a stack that ends for this reason in the module where more than half of these stacks end,
 * or NULL if there is none. Uses the majority vote of Boyer and Moore: one pass finds the only
 * module that can have a majority, and a second pass counts its votes.
 */
static const struct snapshot_stack *find_majority(const struct snapshot_process *process,
						  unsigned int stop, uint64_t *ret_votes)
{
	const struct snapshot_stack *found = NULL;
	uint64_t lead = 0, votes = 0, all = 0;
	uint32_t module, candidate = 0;

	for (size_t i = 0; i < process->stack_count; i++) {
		if (!ends_in(&process->stacks[i], stop, &module))
			continue;
		if (!lead) {
			found = &process->stacks[i];
			candidate = module;
		}
		lead += module == candidate ? 1 : -1;
		all++;
	}
	for (size_t i = 0; i < process->stack_count; i++)
		votes += ends_in(&process->stacks[i], stop, &module) && module == candidate;
	*ret_votes = votes;
	return votes * 2 > all ? found : NULL;
}

struct blame {
	char where[MODULE_SIZE];
	const char *advice;
};

/* ", most of them in libfoo.so" and a remedy; empty if not known. */
static struct blame blame_module(const struct snapshot_process *process, unsigned int stop,
				 uint64_t stacks)
{
	struct blame blame = {.where = ""};
	const char *of_them = stacks == 1 ? "" : "most of them ";
	const struct snapshot_stack *stack;
	uint32_t module;
	uint64_t votes;

	stack = find_majority(process, stop, &votes);
	if (!stack)
		return blame;
	if (stacks > 1 && votes == stacks)
		of_them = "all ";
	if (ends_in(stack, stop, &module) && module == MODULE_NONE) {
		snprintf(blame.where, sizeof(blame.where), ", %scompiled at run time", of_them);
		blame.advice = "have its compiler keep frame pointers";
	} else if (stack->end_module) {
		snprintf(blame.where, sizeof(blame.where), ", %sin %.200s", of_them,
			 name_base(stack->end_module));
		blame.advice = "build it with -fasynchronous-unwind-tables";
	}
	return blame;
}

/* The deepest stack cut at the depth limit shows what --depth was. */
static uint32_t depth_of(const struct snapshot_process *process)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < process->stack_count; i++)
		if (process->stacks[i].stop == STOP_DEPTH && process->stacks[i].depth > depth)
			depth = process->stacks[i].depth;
	return depth;
}

/* Adds a number or a name to the reason. */
static const char *reason_detail(const struct snapshot_process *process, unsigned int stop,
				 uint64_t stacks, char where[WHERE_SIZE])
{
	const struct stop_words *words = stop_words_of(stop);
	struct blame blame;
	uint32_t depth;

	snprintf(where, WHERE_SIZE, "%s", words->where);
	if (words->blames_module) {
		blame = blame_module(process, stop, stacks);
		snprintf(where, WHERE_SIZE, "%s%s", words->where, blame.where);
		return blame.advice;
	}
	depth = stop == STOP_DEPTH ? depth_of(process) : 0;
	if (!depth)
		return words->advice;
	snprintf(where, WHERE_SIZE, "after %u frame%s", depth, depth == 1 ? "" : "s");
	return depth < STACK_MAX_FRAMES ? "--depth 127 records more" : "no more can be recorded";
}

static void reason_write(const struct view *view, unsigned int stop, uint64_t stacks)
{
	char where[WHERE_SIZE], amount[AMOUNT_SIZE], sentence[SENTENCE_SIZE];
	const char *advice = reason_detail(view->process, stop, stacks, where);

	snprintf(sentence, sizeof(sentence), "%s %s %s%s%s", amount_of(stacks, "stack", amount),
		 stacks == 1 ? "ends" : "end", where, advice ? ": " : "", advice ? advice : "");
	text_loss(view->page, sentence);
}

bool text_cut_stacks(const struct view *view)
{
	struct stack_quality quality;
	bool cut = false;

	snapshot_quality(view->process, &quality);
	for (unsigned int stop = 0; stop < STOP_REASONS; stop++) {
		if (!quality.by_reason[stop] || !stop_words_of(stop)->where)
			continue;
		reason_write(view, stop, quality.by_reason[stop]);
		cut = true;
	}
	return cut;
}
