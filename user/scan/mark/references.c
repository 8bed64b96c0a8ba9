// SPDX-License-Identifier: GPL-2.0-or-later
#include "scan/mark/references.h"

#include <errno.h>
#include <stdlib.h>

#include "scan/mark/reach.h"
#include "scan/mark/stack_only.h"

/* If it cannot be noted, a reference counts at once. */
static void note_reference(struct scan *scan, uint64_t address, const struct edge *edge)
{
	const struct reference reference = {
		.word = {.address = address, .registers = scan->registers},
		.edge = *edge,
	};

	if (vec_push(&scan->references, reference))
		scan_pass_pointer(scan, SLOT_NONE, edge);
}

/* Hits on stacks and in registers. Their tags are positions. */
void references_note(struct scan *scan, uint64_t address, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct hit *hit = &scan->hits[i];
		struct edge edge;

		if (scan_level(scan, hit->slot) < LEVEL_START && scan_edge_of(hit, &edge))
			note_reference(scan, address + (hit->tag & ~WORD_TAGGED), &edge);
	}
}

static void take_answer(struct scan *scan, const struct reference *reference)
{
	switch (reference->word.answer) {
	case REFERENCE_DEAD:
		scan->result->references_dead++;
		break;
	case REFERENCE_LIVE:
		scan_pass_pointer(scan, SLOT_NONE, &reference->edge);
		break;
	case REFERENCE_UNKNOWN:
		break;
	}
}

/* Data that the thread library keeps above a stack is not a leftover of calls. */
static void answer_thread_data(struct scan *scan, struct scan_reference *words, size_t count)
{
	const struct scan_range *range = scan->ranges + scan->input->range_count, *end = range;
	size_t i = 0;

	for (range -= scan->stack_ranges; range < end; range++)
		for (; i < count; i++) {
			if (words[i].registers != SCAN_IN_MEMORY)
				continue;
			if (words[i].address >= range->end)
				break;
			if (range->thread_data && words[i].address >= range->thread_data)
				words[i].answer = REFERENCE_LIVE;
		}
}

static int classify(struct scan *scan, struct scan_reference *words, size_t count)
{
	const struct scan_input *input = scan->input;

	answer_thread_data(scan, words, count);
	return count && input->classify
		       ? input->classify(input->classify_ctx, input->memory, words, count)
		       : 0;
}

int references_classify(struct scan *scan)
{
	size_t count = scan->references.count;
	struct reference *items = scan->references.items;
	struct scan_reference *words = calloc(count + 1, sizeof(*words));
	int err;

	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		words[i] = items[i].word;
	err = classify(scan, words, count);
	for (size_t i = 0; !err && i < count; i++) {
		items[i].word = words[i];
		take_answer(scan, &items[i]);
	}
	for (size_t i = count; !err && i-- > 0;) {
		if (items[i].word.answer != REFERENCE_UNKNOWN)
			continue;
		stack_only_add(scan, items[i].edge.target);
		scan_reach(scan, &items[i].edge);
	}
	free(words);
	vec_free(&scan->references);
	return err;
}
