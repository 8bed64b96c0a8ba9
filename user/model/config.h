/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of a model. */
#ifndef MTRACE_MODEL_CONFIG_H
#define MTRACE_MODEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

struct series_budget;

struct model_config {
	uint32_t apis;     /* set of (1 << api) that is booked; API_SET_ALL by default */
	bool wrappers;     /* tell operator new from malloc (false with -n) */
	bool sanity;       /* judge releases (model/process/sanity.h) */
	bool unprobing;    /* set by model_unprobe */
	bool omits;        /* objects were left without probes: not every block is known */
	bool scans;        /* leak scans are wanted: say why, where there was none */
	bool lists_blocks; /* snapshots have each live block; so books that end keep them */
	bool ends_unseen;  /* processes are not held at their ends for one */
	uint64_t sample; /* only a sample is told: the mean of level 0 (model/process/weight.h) … */
	uint64_t min_size;  /* … only what is so large … */
	uint64_t max_size;  /* … and no larger; 0: no such limit */
	uint64_t page_size; /* of the target's machine, a power of two; 0: 4096 */
	/* Bounds; 0: the default. */
	uint32_t max_sites;           /* of a process, and likewise stacks; 131,072 */
	uint32_t max_closed;          /* closed books that are kept; 1,000 … */
	uint32_t max_closed_sites;    /* … and sites of all of them; 262,144 */
	uint32_t max_series;          /* of all sites together (model/site/series.h); 16,384 */
	struct series_budget *series; /* the model's own */
};

#endif
