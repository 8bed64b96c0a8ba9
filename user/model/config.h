/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of a model. */
#ifndef MTRACE_MODEL_CONFIG_H
#define MTRACE_MODEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

struct series_budget;

struct model_config {
	uint32_t apis;     /* set of (1 << api) to record; API_SET_ALL by default */
	bool wrappers;     /* distinguish operator new from malloc (false with -n) */
	bool sanity;       /* check releases (model/process/sanity.h) */
	bool unprobing;    /* set by model_unprobe */
	bool omits;        /* some objects have no probes, so not every block is known */
	bool scans;        /* leak scans are wanted: give a reason for each missing one */
	bool lists_blocks; /* snapshots list each live block, so exited processes keep them */
	bool exits_unseen; /* processes are not held at their exit for a scan */
	uint64_t sample; /* only a sample is recorded: mean of level 0 (model/process/weight.h) … */
	uint64_t min_size;     /* … and only sizes of at least this … */
	uint64_t max_size;     /* … and at most this; 0: no limit */
	uint32_t limit_sample; /* sampling of new blocks, as in records; set by model/limit.h */
	uint64_t page_size;    /* of the target machine, a power of two; 0: 4096 */
	/* Limits; 0 means the default. */
	uint32_t max_sites;        /* sites per process, and stacks per process; 131,072 */
	uint32_t max_closed;       /* closed processes to keep; 1,000 … */
	uint32_t max_closed_sites; /* … and the total of their sites; 262,144 */
	uint32_t max_series;       /* of all sites together (model/site/series.h); 16,384 */
	uint64_t max_bytes; /* memory of the model (model/limit.h), at least 1 MiB; 0: no limit */
	struct series_budget *series; /* owned by the model */
};

#endif
