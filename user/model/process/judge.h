/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judges the releases of a process (sanity.h). */
#ifndef MTRACE_MODEL_PROCESS_JUDGE_H
#define MTRACE_MODEL_PROCESS_JUDGE_H

#include <stdbool.h>

#include "model/event.h"
#include "model/process/state.h"
#include "model/sanity_kind.h"

/* A live block was released. Returns 0 or -ENOMEM. */
int sanity_released(struct process *process, const struct event *event, const struct block *block);
/* An address that is not live was released. Returns 0 or -ENOMEM. */
int sanity_bad_free(struct process *process, const struct event *event);
/* Is an error of this kind certain, given what was dropped or not seen? */
bool sanity_judges(const struct process *process, enum sanity_kind kind);

#endif
