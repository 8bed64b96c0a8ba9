/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The series of a process: for each site, the live bytes at the end of each tick. */
#ifndef MTRACE_MODEL_PROCESS_SERIES_H
#define MTRACE_MODEL_PROCESS_SERIES_H

#include <stdint.h>

#include "model/process/state.h"

/* Starts a new tick of the site and records what was live until now. */
void process_note(struct process *process, uint32_t index, struct site *site);
/* Returns the series of a site, or NULL. */
const struct series *process_series(const struct process *process, uint32_t index);
/* Gives a site that has no series a copy of this one, if the budget allows. Returns 0 or
 * -ENOMEM. */
int process_enter_series(struct process *process, uint32_t index, const struct series *series);
/* Keeps only the series of sites that grow. No event may follow. */
void process_settle_series(struct process *process);
void process_free_series(struct process *process);

#endif
