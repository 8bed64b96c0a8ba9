/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/session/overhead.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/session/budget.h"
#include "app/session/start_cost.h"
#include "base/log.h"
#include "base/units.h"
#include "source/alloc_filter.h"

#define TICK_NS      (100 * 1000000ULL) /* length of a window */
#define PERIOD       10                 /* ticks from one window to the next … */
#define LEISURE      100                /* … if nothing depends on it */
#define LINE_SIZE    1024
#define LEAST_NS     (1 * 1000000ULL) /* windows with less CPU time are not used */
#define WINDOWS_MOST 3                /* if nothing depends on it, and all processes are idle */
#define BUSY_SHARE   10               /* processes that use at least 1/10 of a processor are busy */
#define SETTLE       5 /* windows in which sampling may follow the budget at the start */

struct overhead {
	struct overhead_config config;
	struct loop_watch *on_tick;
	struct budget budget;
	uint64_t ticks;
	uint64_t next;    /* tick of the next window */
	uint64_t windows; /* number of windows so far */
	uint32_t settled; /* usable windows so far, while the cost at the start is not known yet */
	bool started;     /* it is known */
	bool open;        /* a window is open */
	bool hopeless;    /* reported already */
	bool failed;      /* same */
};

static bool has_budget(const struct overhead *overhead)
{
	return overhead->budget.most_ppm != 0;
}

static const struct options *options_of(const struct overhead *overhead)
{
	return overhead->config.session->report.options;
}

static uint32_t ppm(double share)
{
	return share >= 1 ? PPM_ALL : (uint32_t)(share * PPM_ALL);
}

static uint64_t mean_of(const struct overhead *overhead)
{
	uint32_t drawn = overhead->budget.drawn;

	return drawn ? sample_mean_at(overhead->config.session->model_config.sample, drawn - 1) : 0;
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
	struct snapshot_overhead *report = &overhead->config.session->overhead;

	report->measured++;
	report->cost_ppm = ppm(share->all);
	report->program_ppm = ppm((double)cost->program_ns / (double)cost->cpu_ns);
	report->floor_ppm = ppm(share->floor);
	report->mean = mean_of(overhead);
	report->changes = overhead->budget.changes;
	report->hopeless = has_budget(overhead) && budget_is_hopeless(&overhead->budget, share);
}

static void overhead_stop(struct overhead *overhead)
{
	loop_remove(overhead->config.loop, overhead->on_tick);
	overhead->on_tick = NULL;
}

static double abort_share(const struct overhead *overhead)
{
	return (double)options_of(overhead)->abort_over_ppm / PPM_ALL;
}

static void start_abort(struct overhead *overhead, const struct start_cost *cost)
{
	char text[START_COST_SIZE];

	log_error("detached because of --abort-over %g: %s", 100 * abort_share(overhead),
		  start_cost_text(cost, text));
	overhead_stop(overhead);
	overhead->config.abort(overhead->config.ctx);
}

/* With a budget, the user has chosen the cost; what is idle most of the time does not become
 * slower. */
static bool is_surprising(const struct overhead *overhead, const struct source_cost *window)
{
	return overhead->config.session->measures_start && !has_budget(overhead) &&
	       window->cpu_ns >= window->wall_ns / BUSY_SHARE;
}

static void start_report(const struct overhead *overhead, const struct source_cost *window,
			 const struct start_cost *cost)
{
	char text[START_COST_SIZE];

	if (start_cost_is_high(cost) && is_surprising(overhead, window))
		log_warn("%s", start_cost_text(cost, text));
	else
		log_info("%s", start_cost_text(cost, text));
}

/*
 * The first usable window. With a budget, that is the first one for which sampling was not changed,
 * because --abort-over means the cost with sampling; windows follow each other until then.
 */
static void start_evaluate(struct overhead *overhead, const struct source_cost *window,
			   bool sampling_changed)
{
	const struct options *options = options_of(overhead);
	struct start_cost cost = start_cost_of(window);

	overhead->settled++;
	cost.samples = overhead->budget.drawn || has_budget(overhead);
	cost.complete = options->sanity;
	if (sampling_changed && overhead->settled < SETTLE) {
		overhead->next = overhead->ticks;
		return;
	}
	overhead->started = true;
	if (options->abort_over_ppm && cost.all > abort_share(overhead))
		start_abort(overhead, &cost);
	else
		start_report(overhead, window, &cost);
}

/* Returns true if sampling changed. */
static bool budget_follow(struct overhead *overhead, const struct budget_cost *share)
{
	struct source *source = overhead->config.session->source;

	log_hopeless(overhead, share);
	if (!has_budget(overhead) || !budget_decide(&overhead->budget, share))
		return false;
	source->ops->draw(source, overhead->budget.drawn);
	log_change(overhead, share);
	return true;
}

static void evaluate(struct overhead *overhead, const struct source_cost *cost)
{
	const struct session *session = overhead->config.session;
	double all = cost->cpu_ns >= LEAST_NS ? (double)cost->cpu_ns : 0;
	struct budget_cost share;
	bool changed;

	if (all == 0)
		return;
	share = (struct budget_cost){(double)cost->cost_ns / all, (double)cost->floor_ns / all};
	log_programs(overhead, cost);
	changed = budget_follow(overhead, &share);
	if (session->measures || options_of(overhead)->abort_over_ppm)
		note(overhead, cost, &share);
	if (!overhead->started)
		start_evaluate(overhead, cost, changed);
	if (overhead->started && !session->measures)
		overhead_stop(overhead);
}

/*
 * Without measurements the budget cannot be kept, so this is reported. If the source never
 * supported them, it has already said why.
 */
static void fail(struct overhead *overhead, int code)
{
	if (code == -EOPNOTSUPP) {
		overhead_stop(overhead);
	} else if (!overhead->failed) {
		log_warn("can no longer measure the overhead of tracing: %s", strerror(-code));
		overhead->failed = true;
	}
}

/* In ticks. */
static uint64_t period_of(const struct overhead *overhead)
{
	bool awaited = !overhead->started && options_of(overhead)->abort_over_ppm;

	return has_budget(overhead) || awaited ? PERIOD : LEISURE;
}

/* Nothing depends on the cost, and the processes are idle: counting for them would disturb the
 * whole machine for nothing. */
static bool is_pointless(const struct overhead *overhead)
{
	const struct session *session = overhead->config.session;

	return !session->measures && !options_of(overhead)->abort_over_ppm &&
	       overhead->windows >= WINDOWS_MOST;
}

static void on_tick(void *ctx, uint32_t what)
{
	struct overhead *overhead = ctx;
	struct source *source = overhead->config.session->source;
	struct source_cost cost;
	int code;

	(void)what;
	session_drain(overhead->config.session); /* call counters are up to date */
	if (overhead->open) {
		code = source->ops->cost_end(source, &cost);
		overhead->open = code == -EAGAIN;
		if (code && !overhead->open)
			fail(overhead, code);
		else if (!code)
			evaluate(overhead, &cost);
	} else if (is_pointless(overhead)) {
		overhead_stop(overhead);
	} else if (overhead->ticks >= overhead->next) {
		overhead->windows++;
		overhead->next = overhead->ticks + period_of(overhead);
		code = source->ops->cost_begin(source);
		if (code)
			fail(overhead, code);
		overhead->open = !code;
	}
	overhead->ticks++;
}

int overhead_start(struct overhead *overhead)
{
	return overhead ? loop_add_timer(overhead->config.loop, 0, TICK_NS, on_tick, overhead,
					 &overhead->on_tick)
			: 0;
}

int overhead_open(struct overhead **ret_overhead, const struct overhead_config *config,
		  struct error *err)
{
	struct session *session = config->session;
	const struct options *options = session->report.options;
	struct overhead *overhead;

	*ret_overhead = NULL;
	if (!session->source->ops->cost_begin || (!session->measures && !session->measures_start))
		return 0;
	overhead = calloc(1, sizeof(*overhead));
	if (!overhead)
		return error_set(err, -ENOMEM, "out of memory");
	*overhead = (struct overhead){
		.config = *config,
		.budget = {.most_ppm = options->max_overhead_ppm,
			   .least = alloc_filter_samples_at_first(&options->alloc_filter),
			   .most = SAMPLE_LEVELS},
	};
	overhead->budget.drawn = overhead->budget.least;
	session->overhead = (struct snapshot_overhead){.budget_ppm = options->max_overhead_ppm,
						       .mean = mean_of(overhead)};
	*ret_overhead = overhead;
	return 0;
}

void overhead_close(struct overhead *overhead)
{
	if (!overhead)
		return;
	loop_remove(overhead->config.loop, overhead->on_tick);
	free(overhead);
}
