/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report [FORMAT [STACKS [FRAMES]]]: how long a report takes to write, of a snapshot as a compiler
 * leaves it: many deep stacks of few distinct frames. Writes to /dev/null; prints what it cost.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sink/sink.h"

#define DISTINCT 40000 /* frames of cc1plus in a compilation */

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Names as long as those of a compiler are. */
static struct snapshot_frame *distinct_frames(struct snapshot *snapshot)
{
	struct snapshot_frame *frames = snapshot_alloc(snapshot, DISTINCT * sizeof(*frames));
	char name[128];

	for (uint32_t i = 0; i < DISTINCT; i++) {
		snprintf(name, sizeof(name), "function_%u(tree_node*, gimple_stmt_iterator*)", i);
		frames[i] = (struct snapshot_frame){
			.address = 0x400000 + i * 16,
			.offset = i * 16,
			.module = snapshot_string(snapshot,
						  "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus"),
			.build_id = snapshot_string(snapshot,
						    "4f1c2a7be0d93c58aa6d2b1f09e7c3d4a5b6c7d8"),
			.function = snapshot_string(snapshot, name),
			.file = snapshot_string(snapshot,
						"/build/gcc/src/gcc/tree-ssa-operands.cc"),
			.line = i,
		};
	}
	return frames;
}

/* The further out a frame, the more stacks share it. */
static uint32_t choices_at(uint32_t position)
{
	uint32_t choices = position < 32 ? DISTINCT >> position / 2 : 0;

	return choices ? choices : 1;
}

static void fill(struct snapshot *snapshot, struct snapshot_process *process, uint32_t depth)
{
	const struct snapshot_frame *distinct = distinct_frames(snapshot);
	uint64_t random = 1;

	for (uint32_t i = 0; i < process->stack_count; i++) {
		struct snapshot_stack *stack = &process->stacks[i];

		process->sites[i] = (struct snapshot_site){.id = i, .api = API_MALLOC, .stack = i};
		*stack = (struct snapshot_stack){.id = i, .depth = depth, .frame_count = depth};
		stack->frames = snapshot_alloc(snapshot, depth * sizeof(*stack->frames));
		for (uint32_t j = 0; j < depth; j++)
			stack->frames[j] = distinct[random_next(&random) % choices_at(j)];
	}
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const struct sink *sink = sink_find(argc > 1 ? argv[1] : "json");
	size_t stacks = argc > 2 ? strtoul(argv[2], NULL, 10) : 60000;
	uint32_t depth = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 30;
	struct sink_options options = {.width = 80};
	struct snapshot *snapshot = snapshot_new();
	struct snapshot_process process = {.comm = "cc1plus"};
	FILE *out = fopen("/dev/null", "w");
	double start;

	if (!sink || !snapshot || !out)
		errx(1, "cannot start");
	process.site_count = process.stack_count = stacks;
	process.sites = snapshot_alloc(snapshot, stacks * sizeof(*process.sites));
	process.stacks = snapshot_alloc(snapshot, stacks * sizeof(*process.stacks));
	fill(snapshot, &process, depth);
	snapshot->processes = &process;
	snapshot->process_count = 1;
	start = seconds_now();
	if (sink->write(snapshot, &options, out))
		errx(1, "cannot write");
	printf("%s of %zu stacks of %u frames: %.2f s\n", sink->name, stacks, depth,
	       seconds_now() - start);
	fclose(out);
	snapshot_free(snapshot);
	return 0;
}
