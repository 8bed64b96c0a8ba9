/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The malloc family. */
#ifndef MTRACE_MODEL_UPDATE_HEAP_H
#define MTRACE_MODEL_UPDATE_HEAP_H

#include "model/update/update.h"

extern const struct update_ops update_heap;

/* Applies a free. Returns 0 or -ENOMEM. */
int update_release(struct process *process, const struct event *event);

#endif
