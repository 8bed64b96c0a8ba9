/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mmap family. */
#ifndef MTRACE_MODEL_BOOK_MAP_H
#define MTRACE_MODEL_BOOK_MAP_H

#include "model/book/book.h"

extern const struct book book_map;

#endif
