/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/session/overhead.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/session/budget.h"
#include "base/log.h"
#include "base/units.h"
#include "source/alloc_filter.h"

#define TICK_NS   (100 * 1000000ULL) /* length of a window */
#define PERIOD    10                 /* ticks from one window to the next … */
#define LEISURE   100                /* … without a budget */
#define LINE_SIZE 1024
#define LEAST_NS  (1 * 1000000ULL) /* windows with less CPU time are not used */

struct overhead {
	struct session *session;
	struct loop *loop;
	struct loop_watch *on_tick;
	struct budget budget;
	uint64_t ticks;
	bool open;     /* a window is open */
	bool hopeless; /* reported already */
	bool failed;   /* same */
};

static bool has_budget(const struct overhead *overhead)
{
	return overhead->budget.most_ppm != 0;
}

static uint32_t ppm(double share)
{
	return share >= 1 ? PPM_ALL : (uint32_t)(share * PPM_ALL);
}

static uint64_t mean_of(const struct overhead *overhead)
{
	uint32_t drawn = overhead->budget.drawn;

	return drawn ? sample_mean_at(overhead->session->model_config.sample, drawn - 1) : 0;
}

static void log_hopeless(struct overhead *overhead, const struct budget_cost *cost)
{
	if (overhead->hopeless || !has_budget(overhead) ||
	    !budget_is_hopeless(&overhead->budget, cost))
		return;
	overhead->hopeless = true;
	log_warn("--max-overhead cannot be met: the probes alone take %.1f%% of the traced "
		 "processes' CPU time, however few calls are sampled (trace fewer functions with "
		 "--only)",
		 100 * cost->floor);
}

/*
 * "cost: 3.4% of 98.2 ms; call_session ran 1,213 times, 310 ns each". Logged as debug with a
 * budget, because there are many.
 */
static void log_programs(const struct overhead *overhead, const struct source_cost *cost)
{
	char text[LINE_SIZE], runs[UNITS_TEXT_SIZE];
	size_t used = (size_t)snprintf(text, sizeof(text), "cost: %.1f%% of %.1f ms",
				       100 * (double)cost->cost_ns / (double)cost->cpu_ns,
				       (double)cost->cpu_ns / 1e6);

	for (size_t i = 0; i < cost->program_count && used < sizeof(text); i++) {
		const struct cost_of_program *program = &cost->programs[i];

		if (program->runs)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "; %s ran %s times, %" PRIu64 " ns each",
						 program->name, count_format(program->runs, runs),
						 program->ns / program->runs);
	}
	if (has_budget(overhead))
		log_debug("%s", text);
	else
		log_info("%s", text);
}

static void log_change(const struct overhead *overhead, const struct budget_cost *cost)
{
	char mean[UNITS_TEXT_SIZE];

	if (overhead->budget.drawn)
		log_info("tracing took %.1f%%: now sampling one allocation per %s", 100 * cost->all,
			 bytes_format(mean_of(overhead), mean));
	else
		log_info("tracing took %.1f%%: now tracing all allocations", 100 * cost->all);
}

static void note(struct overhead *overhead, const struct source_cost *cost,
		 const struct budget_cost *share)
{
	struct snapshot_overhead *report = &overhead->session->overhead;

	report->measured++;
	report->cost_ppm = ppm(share->all);
	report->program_ppm = ppm((double)cost->program_ns / (double)cost->cpu_ns);
	report->floor_ppm = ppm(share->floor);
	report->mean = mean_of(overhead);
	report->changes = overhead->budget.changes;
	report->hopeless = has_budget(overhead) && budget_is_hopeless(&overhead->budget, share);
}

static void evaluate(struct overhead *overhead, const struct source_cost *cost)
{
	const struct source *source = overhead->session->source;
	double all = cost->cpu_ns >= LEAST_NS ? (double)cost->cpu_ns : 0;
	struct budget_cost share;

	if (all == 0)
		return;
	share = (struct budget_cost){(double)cost->cost_ns / all, (double)cost->floor_ns / all};
	log_programs(overhead, cost);
	log_hopeless(overhead, &share);
	if (has_budget(overhead) && budget_decide(&overhead->budget, &share)) {
		source->ops->draw(overhead->session->source, overhead->budget.drawn);
		log_change(overhead, &share);
	}
	note(overhead, cost, &share);
}

/*
 * Without measurements the budget cannot be kept, so this is reported. If the source never
 * supported them, it has already said why.
 */
static void fail(struct overhead *overhead, int code)
{
	if (code == -EOPNOTSUPP) {
		loop_remove(overhead->loop, overhead->on_tick);
		overhead->on_tick = NULL;
	} else if (!overhead->failed) {
		log_warn("can no longer measure the overhead of tracing: %s", strerror(-code));
		overhead->failed = true;
	}
}

static void on_tick(void *ctx, uint32_t what)
{
	struct overhead *overhead = ctx;
	struct source *source = overhead->session->source;
	uint64_t period = has_budget(overhead) ? PERIOD : LEISURE;
	struct source_cost cost;
	int code;

	(void)what;
	session_drain(overhead->session); /* call counters are up to date */
	if (overhead->open) {
		code = source->ops->cost_end(source, &cost);
		overhead->open = code == -EAGAIN;
		if (code && !overhead->open)
			fail(overhead, code);
		else if (!code)
			evaluate(overhead, &cost);
	} else if (overhead->ticks % period == 0) {
		code = source->ops->cost_begin(source);
		if (code)
			fail(overhead, code);
		overhead->open = !code;
	}
	overhead->ticks++;
}

static int overhead_start(struct overhead *overhead, struct error *err)
{
	int code =
		loop_add_timer(overhead->loop, 0, TICK_NS, on_tick, overhead, &overhead->on_tick);

	return code ? error_set_errno(err, code, "cannot measure the overhead of tracing") : 0;
}

int overhead_open(struct overhead **ret_overhead, struct session *session, struct loop *loop,
		  struct error *err)
{
	const struct options *options = session->report.options;
	const struct source *source = session->source;
	struct overhead *overhead;
	int code;

	*ret_overhead = NULL;
	if (!source->ops->cost_begin || (!options->max_overhead_ppm && !session->measures))
		return 0;
	overhead = calloc(1, sizeof(*overhead));
	if (!overhead)
		return error_set(err, -ENOMEM, "out of memory");
	*overhead = (struct overhead){
		.session = session,
		.loop = loop,
		.budget = {.most_ppm = options->max_overhead_ppm,
			   .least = alloc_filter_samples_at_first(&options->alloc_filter),
			   .most = SAMPLE_LEVELS},
	};
	overhead->budget.drawn = overhead->budget.least;
	session->overhead = (struct snapshot_overhead){.budget_ppm = options->max_overhead_ppm,
						       .mean = mean_of(overhead)};
	code = overhead_start(overhead, err);
	if (code) {
		overhead_close(overhead);
		return code;
	}
	*ret_overhead = overhead;
	return 0;
}

void overhead_close(struct overhead *overhead)
{
	if (!overhead)
		return;
	loop_remove(overhead->loop, overhead->on_tick);
	free(overhead);
}
