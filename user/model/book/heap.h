/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The malloc family. */
#ifndef MTRACE_MODEL_BOOK_HEAP_H
#define MTRACE_MODEL_BOOK_HEAP_H

#include "model/book/book.h"

extern const struct book book_heap;

/* Applies a free. Returns 0 or -ENOMEM. */
int book_free(struct process *process, const struct event *event);

#endif
