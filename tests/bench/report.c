/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report [FORMAT [STACKS [FRAMES]]]: how long it takes to write a report about a snapshot like a
 * compiler's: many deep stacks of few distinct frames. Writes to /dev/null and prints the cost.
 * report scrape [STACKS [FRAMES]]: the cost of a scrape relative to the JSON report.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/format.h"
#include "report/prometheus/prometheus.h"

#define ROUNDS   10
#define DISTINCT 40000 /* frames of cc1plus in a compilation */

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Names as long as those of a compiler. */
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

/* The further out a frame is, the more stacks share it. */
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

static double write_once(const struct snapshot *snapshot, const struct report_format *format,
			 uint32_t sites, FILE *out)
{
	const struct prometheus_options metrics = {.processes = 50, .sites = sites};
	const struct format_options look = {.width = 80};
	const struct prometheus_self self = {0};
	double start = seconds_now();
	int code = format ? format->write(snapshot, &look, out)
			  : prometheus_write(snapshot, &metrics, &self, out);

	if (code)
		errx(1, "cannot write");
	return seconds_now() - start;
}

/* The fastest of several runs, because every disturbance adds time. */
static double best(const struct snapshot *snapshot, const struct report_format *format,
		   uint32_t sites, FILE *out)
{
	double least = write_once(snapshot, format, sites, out);

	for (int i = 1; i < ROUNDS; i++) {
		double seconds = write_once(snapshot, format, sites, out);

		least = seconds < least ? seconds : least;
	}
	return least;
}

static void compare(const struct snapshot *snapshot, size_t stacks, FILE *out)
{
	static const uint32_t bounds[] = {20, 10000};
	double json = best(snapshot, format_find("json"), 0, out);

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		double scrape = best(snapshot, NULL, bounds[i], out);

		printf("a scrape at %zu sites, %u of them with series: %.2f ms, %.3f of the JSON "
		       "report's %.2f ms\n",
		       stacks, bounds[i], scrape * 1e3, scrape / json, json * 1e3);
	}
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "json";
	bool scrape = !strcmp(name, "scrape");
	const struct report_format *format = format_find(name);
	size_t stacks = argc > 2 ? strtoul(argv[2], NULL, 10) : 60000;
	uint32_t depth = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 30;
	struct snapshot *snapshot = snapshot_new();
	struct snapshot_process process = {.comm = "cc1plus"};
	FILE *out = fopen("/dev/null", "w");

	if ((!format && !scrape) || !snapshot || !out)
		errx(1, "cannot start");
	process.site_count = process.stack_count = stacks;
	process.sites = snapshot_alloc(snapshot, stacks * sizeof(*process.sites));
	process.stacks = snapshot_alloc(snapshot, stacks * sizeof(*process.stacks));
	fill(snapshot, &process, depth);
	snapshot->processes = &process;
	snapshot->process_count = 1;
	if (scrape)
		compare(snapshot, stacks, out);
	else
		printf("%s of %zu stacks of %u frames: %.2f s\n", format->name, stacks, depth,
		       write_once(snapshot, format, 0, out));
	fclose(out);
	snapshot_free(snapshot);
	return 0;
}
