/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a model, for the model itself and for code that loads and saves it. */
#ifndef MTRACE_MODEL_PARTS_H
#define MTRACE_MODEL_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"
#include "model/config.h"
#include "model/process/state.h"
#include "model/snapshot/snapshot.h"

struct model {
	struct model_config config;
	VEC(struct process *) processes; /* in order of appearance; NULL if merged into `others` */
	size_t holes;                    /* number of NULLs */
	struct map64 by_pid;             /* users of open processes → index in processes */
	uint32_t opened;                 /* number of processes ever opened */
	uint64_t closed;                 /* closed processes that are kept … */
	uint64_t closed_sites;           /* … and their sites */
	struct snapshot_others others;
	uint64_t dropped;
	bool paused;       /* new processes start paused */
	uint64_t calls;    /* counted only with config.max_bytes */
	uint64_t check_at; /* number of calls at which the memory is measured */
	struct snapshot_limit limit;
	struct series_budget series;
};

#endif
