/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the releases of a process (sanity.h). */
#ifndef MTRACE_MODEL_PROCESS_SANITY_CHECK_H
#define MTRACE_MODEL_PROCESS_SANITY_CHECK_H

#include <stdbool.h>

#include "model/event.h"
#include "model/process/state.h"
#include "model/sanity_kind.h"

/* Called when a live block is released. Returns 0 or -ENOMEM. */
int sanity_released(struct process *process, const struct event *event, const struct block *block);
/* Called when an address that is not live is released. Returns 0 or -ENOMEM. */
int sanity_bad_free(struct process *process, const struct event *event);
/* Returns true if an error of this kind is certain, in view of dropped events and blocks that were
 * not seen. */
bool sanity_is_certain(const struct process *process, enum sanity_kind kind);

#endif
