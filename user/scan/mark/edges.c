/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The edges of a source are a run of 32-bit words, the last one flagged, and runs are in the order
 * of their sources. So the start of a run need not be stored: each group of 16 slots knows where
 * its first run is, one bit per slot says which slots have a run, and the runs in between are
 * skipped. Runs of a single word each, as in lists, are skipped at once. An edge takes 4 bytes, or
 * 8 if it points to the interior or has a tag; offsets of 4 GiB and more are possible.
 */
#include "scan/mark/edges.h"

#include <errno.h>
#include <stdlib.h>

#define LAST       (1u << 31) /* last word of its run */
#define INTERIOR   (1u << 30) /* the offset follows */
#define TARGET     (INTERIOR - 1)
#define TAGGED     UINT32_MAX /* as an offset: a tagged pointer */
#define GROUP_MASK ((1u << EDGES_GROUP) - 1)

int edges_init(struct edges *edges, uint32_t slots, uint32_t capacity)
{
	*edges = (struct edges){
		.capacity = capacity, .group_count = slots / EDGES_GROUP + 2, .source = SLOT_NONE};
	edges->words = malloc((capacity + 1) * sizeof(*edges->words));
	edges->firsts = calloc(edges->group_count, sizeof(*edges->firsts));
	if (!edges->words || !edges->firsts || bitset_init(&edges->sources, slots)) {
		edges_free(edges);
		return -ENOMEM;
	}
	edges->bytes = capacity * sizeof(*edges->words) + edges_memory(slots);
	return 0;
}

size_t edges_memory(uint32_t slots)
{
	return (slots / EDGES_GROUP + 2) * sizeof(uint32_t) + bitset_memory(slots);
}

void edges_free(struct edges *edges)
{
	free(edges->words);
	free(edges->firsts);
	bitset_free(&edges->sources);
	*edges = (struct edges){0};
}

void edges_shrink(struct edges *edges, size_t bytes)
{
	size_t words = bytes / sizeof(*edges->words);
	uint32_t *less;

	if (words > edges->capacity / 2)
		return;
	less = realloc(edges->words, (edges->capacity - words + 1) * sizeof(*less));
	if (!less)
		return;
	edges->words = less;
	edges->capacity -= (uint32_t)words;
	edges->bytes -= words * sizeof(*less);
}

void edges_clear(struct edges *edges)
{
	edges->used = edges->groups = 0;
	edges->source = SLOT_NONE;
	bitset_clear(&edges->sources);
}

static void end_run(struct edges *edges)
{
	if (edges->source != SLOT_NONE)
		edges->words[edges->last] |= LAST;
}

static void begin_run(struct edges *edges, uint32_t source)
{
	end_run(edges);
	while (edges->groups <= source / EDGES_GROUP)
		edges->firsts[edges->groups++] = edges->used;
	edges->source = source;
	bitset_add(&edges->sources, source);
}

static uint32_t pack_offset(uint64_t offset)
{
	if (offset == EDGE_TAGGED)
		return TAGGED;
	return offset < TAGGED ? (uint32_t)offset : TAGGED - 1;
}

bool edges_add(struct edges *edges, uint32_t source, const struct edge *edge)
{
	uint32_t need = edge->offset ? 2 : 1;

	if (edges->capacity - edges->used < need)
		return false;
	if (edges->source != SLOT_NONE && source < edges->source)
		return false;
	if (edges->source != source)
		begin_run(edges, source);
	edges->last = edges->used;
	edges->words[edges->used++] = edge->target | (edge->offset ? INTERIOR : 0);
	if (edge->offset)
		edges->words[edges->used++] = pack_offset(edge->offset);
	return true;
}

void edges_finish(struct edges *edges)
{
	end_run(edges);
	edges->source = SLOT_NONE;
}

static uint32_t edge_words(const struct edges *edges, uint32_t at)
{
	return edges->words[at] & INTERIOR ? 2 : 1;
}

static uint32_t skip_run(const struct edges *edges, uint32_t at)
{
	while (!(edges->words[at] & LAST))
		at += edge_words(edges, at);
	return at + edge_words(edges, at);
}

/* The end of the group's runs in words. */
static uint32_t group_end(const struct edges *edges, uint32_t group)
{
	return group + 1 < edges->groups ? edges->firsts[group + 1] : edges->used;
}

void edges_walk_begin(struct edges_walk *walk, const struct edges *edges, uint32_t source)
{
	uint32_t group = source / EDGES_GROUP;
	uint64_t members =
		edges->sources.levels[0][source / 64] >> source % 64 / EDGES_GROUP * EDGES_GROUP &
		GROUP_MASK;
	uint64_t bit = 1ULL << source % EDGES_GROUP;
	unsigned int before = (unsigned int)__builtin_popcountll(members & (bit - 1));

	*walk = (struct edges_walk){.edges = edges, .more = members & bit};
	if (!walk->more)
		return;
	walk->at = edges->firsts[group];
	/* as many words as runs: each run is a single word */
	if (group_end(edges, group) - walk->at == (uint32_t)__builtin_popcountll(members))
		walk->at += before;
	else
		while (before-- > 0)
			walk->at = skip_run(edges, walk->at);
}

bool edges_walk_next(struct edges_walk *walk, struct edge *ret_edge)
{
	const uint32_t *words = walk->edges->words + walk->at;

	if (!walk->more)
		return false;
	ret_edge->target = *words & TARGET;
	ret_edge->offset = *words & INTERIOR ? words[1] : 0;
	if (ret_edge->offset == TAGGED)
		ret_edge->offset = EDGE_TAGGED;
	walk->more = !(*words & LAST);
	walk->at += edge_words(walk->edges, walk->at);
	return true;
}
