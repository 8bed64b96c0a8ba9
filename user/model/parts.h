/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What books are made of, for those who put them together: the model, and who loads and saves it.
 */
#ifndef MTRACE_MODEL_PARTS_H
#define MTRACE_MODEL_PARTS_H

#include "base/map64.h"
#include "base/vec.h"
#include "model/model.h"
#include "model/process/process.h"

struct model {
	struct model_config config;
	VEC(struct process *) processes; /* in order of appearance; NULL where one was summed up */
	size_t holes;                    /* so many NULLs */
	struct map64 by_pid;             /* users of open books: index in processes */
	uint32_t opened;                 /* books ever */
	uint64_t closed;                 /* books that are kept … */
	uint64_t closed_sites;           /* … and their sites */
	struct snapshot_others others;
	uint64_t dropped;
	bool paused; /* books begin so */
	struct series_budget series;
};

/*
 * Books that were kept elsewhere, and have all their parts, become the last ones of the model. 0,
 * -ENOMEM, or -EBADMSG: a pid of theirs has others. Unless it is 0 they stay the caller's.
 */
int model_enter(struct model *model, struct process *process);

#endif
