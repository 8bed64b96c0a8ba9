/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forks [BLOCKS [SITES [CALLS]]]: what the model spends on a child that execs at once, by the
 * number of calls (up to CALLS) that parent and child each make before; and on a call without
 * forks.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/model.h"

#define PARENT 1000
#define CHILD  2000
#define FORKS  500

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void tell(struct model *model, struct event event)
{
	if (model_event(model, &event))
		err(1, "event %d", event.kind);
}

static void tell_image(struct model *model, uint32_t pid, enum event_kind kind)
{
	tell(model, (struct event){.kind = kind, .pid = pid, .process = {.comm = "bench"}});
}

/* A call at one of the sites: frees a block and allocates it again. */
static void tell_pair(struct model *model, uint32_t pid, unsigned long block, unsigned long sites)
{
	struct event event = {.kind = EVENT_FREE,
			      .api = API_FREE,
			      .pid = pid,
			      .tid = pid,
			      .call = {.address = 0x100000 + block * 32, .size = 24}};

	tell(model, event);
	event.kind = EVENT_ALLOC;
	event.api = API_MALLOC;
	event.call.stack = 1 + block % sites;
	tell(model, event);
}

static void fill(struct model *model, unsigned long blocks, unsigned long sites)
{
	uint64_t frames[16] = {0};

	for (unsigned long site = 1; site <= sites; site++) {
		frames[0] = frames[7] = site;
		tell(model, (struct event){.kind = EVENT_STACK,
					   .pid = PARENT,
					   .stack = {site, frames, 16, STOP_END}});
	}
	for (unsigned long block = 0; block < blocks; block++)
		tell_pair(model, PARENT, block, sites);
}

static void measure(struct model *model, unsigned long blocks, unsigned long sites,
		    unsigned int calls)
{
	double start = now(), forks;

	for (uint32_t i = 0; i < FORKS; i++) {
		tell(model, (struct event){.kind = EVENT_FORK,
					   .pid = CHILD,
					   .tid = PARENT,
					   .fork = {.parent = PARENT, .start_time_ns = i}});
		for (unsigned int call = 0; call < calls; call++) {
			tell_pair(model, PARENT, (unsigned long)random() % blocks, sites);
			tell_pair(model, CHILD, (unsigned long)random() % blocks, sites);
		}
		tell(model, (struct event){.kind = EVENT_LEAVE, .pid = CHILD});
	}
	forks = now() - start;
	start = now();
	for (uint32_t i = 0; i < FORKS * calls * 2; i++)
		tell_pair(model, PARENT, (unsigned long)random() % blocks, sites);
	printf("%5u calls  %8.1f us per child  (%.1f us without forks)\n", calls,
	       forks * 1e6 / FORKS, (now() - start) * 1e6 / FORKS);
}

int main(int argc, char **argv)
{
	unsigned long blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	unsigned long sites = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000;
	unsigned long calls = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000;
	struct model_config config = {.apis = API_SET_ALL, .max_closed = 1};
	struct model *model;
	double start = now();

	if (!blocks || !sites || model_new(&model, &config))
		errx(2, "no books");
	tell_image(model, PARENT, EVENT_PROCESS);
	fill(model, blocks, sites);
	printf("%lu blocks, %lu sites, %.1f ns per event at first, %.1f MB\n", blocks, sites,
	       (now() - start) * 1e9 / (double)(2 * blocks), (double)model_memory(model) / 1e6);
	for (unsigned int each = 0; each <= calls; each = each ? each * 10 : 1)
		measure(model, blocks, sites, each);
	model_free(model);
	return 0;
}
