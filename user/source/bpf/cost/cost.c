/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/cost/cost.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "mtrace.skel.h"
#include "os/process/proc.h"
#include "source/bpf/cost/calibrate.h"
#include "source/bpf/cost/reading.h"
#include "source/bpf/cost/spent.h"
#include "source/bpf/load/loaded_programs.h"
#include "source/record/ring_reader.h"
#include "source/trace/backend.h"

#define RECORDED_TIMES 8 /* bounds the cost of a call and its free, with a deeper stack */

struct counted {
	const struct bpf_program *program;
	const char *name;
	enum cost_hit hit;
	struct cost_reading begun;
};

struct bpf_cost {
	struct cost_rates rates;
	struct counted programs[COST_PROGRAMS];
	size_t count;
	const struct mtrace_bpf *exits; /* its programs are counted, too */
	int stats;                      /* runs are counted while this is open; -1: no window */
	uint64_t calls;                 /* calls that had returned when the window was opened */
	uint64_t begun_ns;              /* when that was, CLOCK_MONOTONIC */
	struct spent spent;
	struct source_cost sum; /* of a finished window, without the CPU time */
};

/* Programs that are not listed have a breakpoint at an entry. */
static const struct {
	const char *name;
	enum cost_hit hit;
} hits[] = {
	{"call_session", COST_BOTH},   {"call_return", COST_RETURN}, {"task_fork", COST_NO_HIT},
	{"task_exec", COST_NO_HIT},    {"task_exit", COST_NO_HIT},   {"count_users", COST_NO_HIT},
	{"file_key_ask", COST_NO_HIT}, {"call_exit", COST_HOOK},     {"call_throw", COST_HOOK},
	{"call_operator", COST_HOOK},  {"link_map", COST_HOOK},      {"thread_exits", COST_HOOK},
	{"call_gate", COST_HOOK},
};

static enum cost_hit hit_of(const struct bpf_program *program)
{
	if (strncmp(bpf_program__section_name(program), "uprobe", strlen("uprobe")))
		return COST_NO_HIT;
	for (size_t i = 0; i < sizeof(hits) / sizeof(hits[0]); i++)
		if (!strcmp(bpf_program__name(program), hits[i].name))
			return hits[i].hit;
	return COST_ENTRY;
}

static void programs_find(struct bpf_cost *cost, const struct mtrace_bpf *skeleton)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, skeleton->obj)
	{
		if (bpf_program__fd(program) < 0 || cost->count == COST_PROGRAMS)
			continue;
		cost->programs[cost->count++] = (struct counted){
			.program = program,
			.name = bpf_program__name(program),
			.hit = hit_of(program),
		};
	}
}

static int stats_open(struct bpf_cost *cost)
{
	cost->stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return cost->stats < 0 ? cost->stats : 0;
}

static void stats_close(struct bpf_cost *cost)
{
	if (cost->stats >= 0)
		close(cost->stats);
	cost->stats = -1;
}

/* Ignores the records of the calibration. */
static int ignore_record(void *ctx, const void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	return 0;
}

int bpf_cost_open(struct trace_source *bpf, struct error *err)
{
	struct bpf_cost *cost = calloc(1, sizeof(*cost));
	int code;

	if (!cost)
		return error_set(err, -ENOMEM, "out of memory");
	bpf->cost = cost;
	programs_find(cost, bpf->program->skeleton);
	code = stats_open(cost);
	if (code == -EPERM)
		return error_set(err, code, "measuring the cost of tracing needs CAP_SYS_ADMIN");
	if (code)
		return error_set_errno(err, code,
				       "this kernel does not provide BPF run statistics");
	code = calibrate(bpf->program, &cost->rates);
	stats_close(cost);
	(void)ring_reader_read(bpf->reader, ignore_record, NULL);
	if (code)
		return error_set_errno(err, code, "cannot measure the cost of a probe");
	log_info("a probe hit costs %.0f ns at an entry and %.0f ns at a return, plus its BPF "
		 "program: %.0f ns for a call that is not recorded",
		 cost->rates.entry, cost->rates.return_, cost->rates.unsampled);
	return 0;
}

void bpf_cost_close(struct trace_source *bpf)
{
	if (bpf->cost) {
		stats_close(bpf->cost);
		spent_free(&bpf->cost->spent);
	}
	free(bpf->cost);
	bpf->cost = NULL;
}

int bpf_cost_begin(struct source *source)
{
	struct trace_source *bpf = (struct trace_source *)source;
	struct bpf_cost *cost = bpf->cost;
	int err;

	if (!cost)
		return -EOPNOTSUPP;
	err = stats_open(cost);
	if (err)
		return err;
	if (bpf->program->exits && !cost->exits) {
		cost->exits = bpf->program->exits;
		programs_find(cost, cost->exits);
	}
	for (size_t i = 0; i < cost->count; i++) {
		cost->programs[i].begun = (struct cost_reading){0};
		(void)cost_read(cost->programs[i].program, &cost->programs[i].begun);
	}
	cost->calls = bpf->calls_recorded;
	cost->begun_ns = clock_now_ns();
	spent_begin(bpf, &cost->spent);
	return 0;
}

/* Adds the cost of a program's runs, and what they would cost if nothing were recorded. */
static void cost_add(const struct bpf_cost *cost, const struct counted *counted,
		     const struct cost_reading *passed, uint64_t recorded, struct source_cost *sum)
{
	const struct cost_rates *rates = &cost->rates;
	uint64_t of_session = recorded < passed->runs ? recorded : passed->runs;
	uint64_t returns = counted->hit == COST_RETURN ? passed->runs
			   : counted->hit == COST_BOTH ? of_session
						       : 0;
	uint64_t entries = counted->hit == COST_NO_HIT ? 0 : passed->runs - returns;
	uint64_t always = counted->hit == COST_RETURN ? returns : 0;
	double traps = (double)entries * rates->entry + (double)returns * rates->return_;
	double floor = (double)entries * (rates->entry + rates->unsampled) +
		       (double)always * (rates->return_ + rates->unsampled);
	double all = traps + (double)passed->ns;

	sum->hits += entries + returns;
	if (counted->hit == COST_ENTRY || counted->hit == COST_BOTH)
		sum->calls += entries;
	sum->program_ns += passed->ns;
	sum->cost_ns += (uint64_t)all;
	sum->floor_ns += (uint64_t)(floor < all ? floor : all);
}

/*
 * The rates are not exact, so the cost above the floor is not either. Limit it to a maximum per
 * recorded call: if there are none, all of the cost is the floor.
 */
static void floor_correct(const struct bpf_cost *cost, uint64_t recorded, struct source_cost *sum)
{
	double above =
		(double)recorded * (cost->rates.return_ + RECORDED_TIMES * cost->rates.recorded);

	if ((double)(sum->cost_ns - sum->floor_ns) > above)
		sum->floor_ns = sum->cost_ns - (uint64_t)above;
}

static int window_close(struct trace_source *bpf, struct source_cost *ret_sum)
{
	struct bpf_cost *cost = bpf->cost;
	struct source_cost sum = {.program_count = cost->count,
				  .wall_ns = clock_now_ns() - cost->begun_ns,
				  .of_all = bpf->prober->everybody};
	struct cost_reading now[COST_PROGRAMS] = {0};
	uint64_t recorded = bpf->calls_recorded - cost->calls;
	int err = 0;

	spent_end(bpf, &cost->spent);
	for (size_t i = 0; !err && i < cost->count; i++)
		err = cost_read(cost->programs[i].program, &now[i]);
	stats_close(cost);
	if (err)
		return err;
	for (size_t i = 0; i < cost->count; i++) {
		struct counted *counted = &cost->programs[i];
		const struct cost_reading passed = {now[i].runs - counted->begun.runs,
						    now[i].ns - counted->begun.ns};

		cost_add(cost, counted, &passed, recorded, &sum);
		sum.programs[i] = (struct cost_of_program){counted->name, passed.runs, passed.ns};
	}
	floor_correct(cost, recorded, &sum);
	*ret_sum = sum;
	return 0;
}

int bpf_cost_end(struct source *source, struct source_cost *ret_cost)
{
	struct trace_source *bpf = (struct trace_source *)source;
	struct bpf_cost *cost = bpf->cost;
	int err = cost->stats >= 0 ? window_close(bpf, &cost->sum) : 0;

	if (!err)
		err = spent_sum(bpf, &cost->spent, &cost->sum.cpu_ns);
	if (!err)
		*ret_cost = cost->sum;
	return err;
}
