/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The malloc family. */
#ifndef MTRACE_MODEL_ACCOUNT_HEAP_H
#define MTRACE_MODEL_ACCOUNT_HEAP_H

#include "model/account/account.h"

extern const struct account account_heap;

/* Applies a free. Returns 0 or -ENOMEM. */
int account_release(struct process *process, const struct event *event);

#endif
